"""Several forecasts on one page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from symscope import InputError
from symscope.forecasting import ForecastOptions, TrainingOptions, forecast
from symscope.forecasting._comparison_page import (
    comparison_figure,
    comparison_page,
    comparison_sentences,
    verdict_table,
)
from tests.forecasting.problems import FEW, blobs, kernel_only, small_net


@pytest.fixture(scope="module")
def two():
    """A network that was trained, and one that was not."""
    data = blobs(items=5)
    checked = forecast(
        small_net,
        data,
        "C4",
        train=True,
        training=TrainingOptions(steps=60),
        options=ForecastOptions(budget=6, per_class=3, resamples=2),
    )
    return [checked, forecast("mlp", data, "C4", options=kernel_only(per_class=2))]


def test_the_table_has_every_network_and_a_dash_for_what_was_not_measured(two):
    table = verdict_table(two)
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    checked = two[0]
    apart = [abs(float(checked.pilot.new.class_score[c] - checked.check.class_accuracy[c])) for c in range(3)]
    assert first["network"] == "small_net"
    assert first["forecast"] == f"{checked.accuracy:.2f}"
    assert first["difference"] == f"{sum(apart) / 3:.2f}"
    assert first["noise floor"] == f"{checked.check.noise_floor:.2f}"
    low, high = two[1].interval
    assert second["95 % interval"] == f"{low:.2f} to {high:.2f}"
    assert second["trained"] == second["difference"] == second["noise floor"] == "–"
    assert first["first advice"].startswith(checked.advice[0].text)
    assert f"Then {checked.advice[0].accuracy:.2f}." in first["first advice"]
    assert second["first advice"] == "none"
    assert all(cell for row in table.rows for cell in row)


def test_the_summary_is_one_sentence_for_each(two):
    text = comparison_sentences(two)
    assert text.count(". ") == 1
    assert f"reach a held-out accuracy of {two[0].accuracy:.0%} on unseen transformations" in text
    assert f"trained, it reaches {two[0].check.accuracy:.0%}" in text
    low, high = (replace(two[0], question=replace(two[0].question, target=target)) for target in (0.01, 1.0))
    assert comparison_sentences([low]).startswith("small_net will:")
    nothing = replace(two[1].prediction, class_accuracy=two[1].prediction.class_accuracy * 0)
    assert comparison_sentences([replace(two[1], prediction=nothing)]).startswith("mlp will not:")
    assert high.answer != "Yes"


def test_the_page_has_the_sections_of_both_with_addresses_of_their_own(two):
    html = comparison_page(two, "symscope forecast --model one --model two")
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    linked = re.findall(r'href="#([^"]+)"', html)
    assert set(linked) <= set(ids)
    for anchor in (
        "side-by-side",
        "small-net-forecast",
        "small-net-check",
        "small-net-advice",
        "mlp-spectrum",
        "repeat",
    ):
        assert anchor in ids
    assert "mlp-check" not in ids
    assert "symscope forecast --model one --model two" in html
    assert html.count("How pilot trainings are extrapolated") == 1  # said once for all networks
    assert "Settings of small_net" in html
    assert "http://" not in html.replace("http://www.w3.org", "")


def test_the_picture_shows_what_was_found(two):
    [axes] = comparison_figure(two).axes
    drawn = {round(float(x), 6) for line in axes.lines for x in line.get_xdata()}
    wanted = [
        two[0].accuracy,
        two[1].accuracy,
        two[0].check.accuracy,
        *two[0].interval,
        two[0].question.target,
    ]
    assert {round(value, 6) for value in wanted} <= drawn
    assert [label.get_text() for label in axes.get_yticklabels()] == ["small_net", "mlp"]


def test_what_cannot_be_compared_is_refused(two):
    with pytest.raises(InputError, match="at least one forecast, got none"):
        comparison_page([])
    with pytest.raises(InputError, match="a name of its own, repeated: mlp"):
        comparison_page([two[1], two[1]])
    other = forecast("mlp", blobs(), "flip", name="other", options=FEW)
    with pytest.raises(InputError, match="one data set, group and action, got blobs, C2, flip"):
        comparison_page([two[1], other])
