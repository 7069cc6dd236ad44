(function () {
  var button = document.getElementById("theme"), root = document.documentElement;
  button.hidden = false;
  button.addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
(function () {
  function part(name, text) {
    var element = document.createElement(name);
    element.textContent = text;
    return element;
  }
  document.querySelectorAll(".choices").forEach(function (box) {
    var data = JSON.parse(box.dataset.outcomes), controls = Array.from(box.querySelectorAll("input, select"));
    var find = function (name) { return box.querySelector(name); };
    function at(value) { return 100 * Math.min(1, Math.max(0, (value - data.lowest) / (1 - data.lowest))); }
    function bar(name, from, to) {
      find(name).setAttribute("x", at(from));
      find(name).setAttribute("width", Math.max(0, at(to) - at(from)));
    }
    function show() {
      controls.forEach(function (control) {
        if (control.dataset.options) {
          var name = JSON.parse(control.dataset.options)[control.value];
          control.setAttribute("aria-valuetext", name);
          control.nextElementSibling.textContent = name;
        }
      });
      var one = data.outcomes[controls.map(function (control) { return control.value; }).join(",")];
      bar(".reached", Math.min(0, one ? one[0] : 0), Math.max(0, one ? one[0] : 0));
      bar(".interval", one ? one[1] : data.lowest, one ? one[2] : data.lowest);
      find(".target").setAttribute("x", at(data.target) - 0.2);
      var verdict = !one ? "" : one[0] >= data.target ? "reaches the target of " : one[2] < data.target ? "below the target of " : "borderline, the target is ";
      find(".outcome").textContent = one
        ? one[0].toFixed(2) + ", 95 % interval " + one[1].toFixed(2) + " to " + one[2].toFixed(2) + ": " + verdict + data.target.toFixed(2) + "."
        : "Not computed: these changes were not tried together. Set one of them back.";
      find(".facts").replaceChildren.apply(find(".facts"), (one ? one[3] : []).map(function (pair) {
        var row = document.createElement("div");
        row.append(part("dt", pair[0]), part("dd", pair[1]));
        return row;
      }));
    }
    find(".scale span").textContent = data.lowest;
    box.addEventListener("input", show);
    window.addEventListener("pageshow", show); // a browser that goes back keeps what was chosen
    box.hidden = false;
    show();
  });
})();
