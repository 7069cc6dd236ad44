(function () {
  var button = document.getElementById("theme"), root = document.documentElement;
  button.hidden = false;
  button.addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
