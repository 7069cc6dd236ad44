"""The verdict, and the data for programs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from symscope.errors import InputError
from symscope.forecasting import Training, forecast
from symscope.forecasting._forecast_page import forecast_page
from symscope.forecasting._summary import as_data, as_json, verdict
from tests.forecasting.problems import blobs, number_net, small_net, spots


@pytest.fixture(scope="module")
def checked():
    return forecast(
        small_net, blobs(items=5), "C4", per_class=3, draws=2, train=Training(epochs=20, kernels=1)
    )


def test_the_verdict_is_one_sentence_with_its_numbers(checked):
    words = verdict(checked)
    assert words.startswith(("No: small_net", "Not surely: small_net"))
    assert f"{checked.accuracy:.0%}" in words
    assert f"trained, it gets {checked.outcome.accuracy:.0%}" in words
    assert words.count(".") == 1


def test_programs_get_plain_numbers_without_nan(checked):
    found = json.loads(as_json(checked))
    assert found == as_data(checked)
    assert found["accuracy"] == checked.accuracy
    assert found["table"] == checked.table.tolist()
    assert found["elements"] == ["0°", "90°", "180°", "270°"]
    assert found["pair_error"][0][0] is None
    assert found["pair_error"][0][1] == float(checked.pairs.error[0, 1])
    assert found["outcome"]["noise_floor"] == checked.outcome.noise_floor
    assert found["advice"][0]["kind"] == checked.advice[0].kind
    assert found["equivariance"]["layers"][0]["kind"] == "Linear"


def test_the_page_says_everything_and_needs_no_network(checked):
    html = forecast_page(checked, "symscope forecast --group C4")
    for title in ("The forecast", "The check: trained", "Missing cases", "Advice", "Why: the spectrum",
                  "Equivariance of the network", "How to repeat it"):  # fmt: skip
        assert f">{title}" in html
    assert "symscope forecast --group C4" in html
    assert checked.advice[0].text in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    plain = forecast_page(forecast(small_net, blobs(), "flip", missing={1: [1]}, per_class=2, draws=1))
    assert "The check: trained" not in plain


def test_classes_are_called_by_their_names_everywhere():
    names = ("ash", "birch <b>", "elm")
    found = forecast(small_net, blobs(), "C4", per_class=2, draws=1, class_names=names)
    assert as_data(found)["class_names"] == list(names)
    assert found.problem.class_names == names
    assert found.accuracy == forecast(small_net, blobs(), "C4", per_class=2, draws=1).accuracy
    cells = re.findall(r"<td>([^<]*)</td>", forecast_page(found))
    assert {"ash", "birch &lt;b&gt;", "elm"} <= set(cells)
    assert "0" not in cells
    part = blobs().of_classes(0, 2)
    assert forecast(small_net, part, "C4", draws=1, class_names=names).problem.class_names == ("ash", "elm")
    for wrong in (("ash", "elm"), ("ash", "elm", "ash")):
        with pytest.raises(InputError, match="a name of its own for each class, 0 to 2, got 2 different"):
            forecast(small_net, blobs(), "C4", class_names=wrong)
    with pytest.raises(InputError, match="numbers to predict, no classes"):
        forecast(number_net, spots(), "C4", class_names=names)


def test_items_that_nothing_moves_have_no_density_on_the_page():
    data, numbers = blobs(), spots()
    mirrored = data.x + data.x.flip(-1)
    own = replace(data, x=mirrored.where((data.labels == 1)[:, None, None], data.x))
    rounded = replace(own, x=own.x * (1 + 1e-15 * data.x))  # what rounding leaves is no orbit either
    still = replace(numbers, x=numbers.x + numbers.x.flip(-1))
    for net, items in ((small_net, own), (small_net, rounded), (number_net, still)):
        html = forecast_page(forecast(net, items, "flip", per_class=2, draws=1))
        text = re.sub(r"<svg.*?</svg>|<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
        assert not re.search(r"\b(inf|nan)\b|\d{9}", text)
        assert '<td class="number">–</td>' in html
        assert "– where no transformation moves them" in " ".join(text.split())
