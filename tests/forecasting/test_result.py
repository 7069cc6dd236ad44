"""The verdict, and the data for programs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from symscope.errors import InputError
from symscope.forecasting import CheckOptions, ForecastOptions, forecast
from symscope.forecasting._forecast_page import forecast_page
from tests.forecasting.problems import FEW, blobs, number_net, small_net, spots


@pytest.fixture(scope="module")
def checked():
    return forecast(
        small_net,
        blobs(items=5),
        "C4",
        train=CheckOptions(epochs=20, kernel_classes=1),
        options=ForecastOptions(per_class=3, resamples=2),
    )


def test_the_verdict_is_one_sentence_with_its_numbers(checked):
    words = checked.verdict
    assert words.startswith(("No: small_net", "Borderline: small_net"))
    assert f"{checked.accuracy:.0%}" in words
    assert f"trained, it reaches {checked.check.accuracy:.0%}" in words
    assert words.count(".") == 1
    assert len(repr(checked)) < 120
    assert repr(checked).startswith(f"Forecast(small_net, C4 rotation: {checked.answer}, accuracy ")


def test_programs_get_plain_numbers_without_nan(checked):
    result = checked.to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["accuracy"] == checked.accuracy
    prediction = result["prediction"]
    assert prediction["table"] == checked.prediction.table.tolist()
    assert result["question"]["elements"] == ["0°", "90°", "180°", "270°"]
    assert prediction["pair_error"][0][0] is None
    assert prediction["pair_error"][0][1] == float(checked.prediction.pairs.error[0, 1])
    assert result["check"]["noise_floor"] == checked.check.noise_floor
    assert result["advice"][0]["kind"] == checked.advice[0].kind
    assert prediction["equivariance"]["layers"][0]["kind"] == "Linear"


def test_the_page_says_everything_and_needs_no_network(checked):
    html = forecast_page(checked, "symscope forecast --group C4")
    for title in ("The forecast", "The check: trained", "Missing cases", "Advice", "Why: the spectrum",
                  "Equivariance of the network", "How to repeat it"):  # fmt: skip
        assert f">{title}" in html
    assert "symscope forecast --group C4" in html
    assert checked.advice[0].text in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    plain = forecast_page(forecast(small_net, blobs(), "flip", missing={1: [1]}, options=FEW))
    assert "The check: trained" not in plain


def test_classes_are_called_by_their_names_everywhere():
    names = ("ash", "birch <b>", "elm")
    result = forecast(small_net, blobs(), "C4", class_names=names, options=FEW)
    assert result.to_dict()["question"]["class_names"] == list(names)
    assert result.question.class_names == names
    assert result.accuracy == forecast(small_net, blobs(), "C4", options=FEW).accuracy
    cells = re.findall(r"<td>([^<]*)</td>", forecast_page(result))
    assert {"ash", "birch &lt;b&gt;", "elm"} <= set(cells)
    assert "0" not in cells
    part = blobs().of_classes(0, 2)
    assert forecast(
        small_net, part, "C4", class_names=names, options=ForecastOptions(resamples=1)
    ).question.class_names == ("ash", "elm")
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
        html = forecast_page(forecast(net, items, "flip", options=FEW))
        text = re.sub(r"<svg.*?</svg>|<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
        assert not re.search(r"\b(inf|nan)\b|\d{9}", text)
        assert '<td class="number">–</td>' in html
        assert "– where no transformation moves them" in " ".join(text.split())
