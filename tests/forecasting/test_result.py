"""The verdict, and the data for programs."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from symscope.errors import InputError
from symscope.forecasting import Forecast, ForecastOptions, TrainingOptions, comparison_sentences, forecast
from symscope.forecasting._forecast_data import _question_data
from symscope.forecasting._forecast_page import REACHED, forecast_page
from symscope.forecasting._prediction_task import accuracy_interval
from symscope.forecasting._question import as_question
from tests.forecasting.problems import FEW, blobs, kernel_only, number_net, small_net, spots


@pytest.fixture(scope="module")
def checked():
    return forecast(
        small_net,
        blobs(items=5),
        "C4",
        train=True,
        training=TrainingOptions(steps=60, max_classes=2),
        options=ForecastOptions(budget=6, per_class=3, resamples=2),
    )


def test_the_verdict_is_one_sentence_with_its_numbers(checked):
    words = checked.verdict
    assert words.startswith(("No: small_net", "Borderline: small_net"))
    assert f"{checked.accuracy:.0%}" in words
    assert f"trained, it reaches {checked.check.accuracy:.0%}" in words
    assert words.count(".") == 1
    assert len(repr(checked)) < 120
    assert repr(checked).startswith(f"Forecast(small_net, C4 rotation: {checked.answer}, accuracy ")


def test_the_verdict_tells_what_is_seen_from_what_is_missing(checked):
    for words, said in (
        ({"seen": "0: upright"}, "seen: 0: upright"),
        ({"missing": "0: 90°"}, "0: without 90°"),
    ):
        coverage = as_question(blobs(items=2), "C4", **words).coverage
        asked = replace(checked, question=replace(checked.question, coverage=coverage))
        assert f" at what is missing ({said}); " in asked.verdict


def test_trainings_that_have_learned_decide_the_answer(checked):
    first = checked.check.first
    fit = replace(first.fit, total=first.fit.count.double())
    name = "known" if checked.pilot.new is None else "new"
    table = getattr(first, name)

    def trained(*shares):
        both = [
            replace(first, fit=fit, **{name: replace(table, total=s * table.count.double())}) for s in shares
        ]
        return replace(checked, check=replace(checked.check, first=both[0], second=both[1]))

    answers = [trained(*shares).answer for shares in ((0.95, 0.92), (0.95, 0.5), (0.5, 0.6))]
    assert answers == ["Yes", "Borderline", "No"]
    predicted = checked.predicted_answer  # it depends on how long the pilot was
    assert predicted != "Yes"
    learned, agreed = (
        trained(0.95, 0.92),
        trained(0.95, 0.5) if predicted == "Borderline" else trained(0.5, 0.6),
    )
    assert learned.verdict.endswith("and the trainings decide the answer.")
    assert "decide" not in agreed.verdict
    assert REACHED[predicted][1] in forecast_page(learned)  # the forecast's own section


def test_a_failed_training_is_in_the_verdict_and_wherever_it_is_shown(checked):
    first, second = checked.check.first, checked.check.second
    whole = replace(first.fit, total=first.fit.count.double())
    low, high = replace(first, fit=replace(whole, total=whole.total / 2)), replace(second, fit=whole)
    failed = replace(checked, check=replace(checked.check, first=low, second=high))
    assert failed.verdict.endswith("but it has not learned its training data.")
    assert failed.training_failure.startswith("With adam at 0.001 the network has not learned")
    assert failed.training_failure in failed._repr_html_()
    assert "but it has not learned" in comparison_sentences([failed])
    assert failed.to_dict()["check"]["underfit_optimisers"] == ["adam at 0.001"]
    learned = replace(checked, check=replace(checked.check, first=high, second=high))
    assert learned.training_failure is None
    assert "not learned" not in learned.verdict


def test_a_notebook_shows_verdict_classes_and_advice(checked):
    html = checked._repr_html_()
    assert html.startswith('<div class="symscope">')
    for words in (
        checked.verdict,
        checked.advice[0].text,
        f"{checked.class_accuracy[1]:.2f}",
        "trained, second",
    ):
        assert escape(words) in html
    assert len(html) < 10_000


def test_the_table_by_class_has_the_numbers_of_the_forecast(checked):
    frame = checked.to_frame()
    assert (frame.index.name, list(frame.index)) == ("class", ["0", "1", "2"])
    np.testing.assert_array_equal(frame["accuracy"], checked.class_accuracy)
    np.testing.assert_array_equal(frame["trained"], checked.check.class_accuracy)
    np.testing.assert_array_equal(frame["known"], checked.pilot.known.class_score)
    np.testing.assert_array_equal(frame["architecture"], checked.prediction.class_score)
    alone = replace(checked, pilot=None, prediction=replace(checked.prediction, full=None))
    for c in range(
        3
    ):  # a class alone: how resamples scatter, and 0.15 that a kernel does not know of training
        accuracy = checked.prediction.class_accuracy[:, [c]]
        low, high = accuracy_interval(accuracy, 3)
        middle = float(accuracy.mean())
        reach = [math.hypot(middle - end, 1.96 * 0.15) for end in (low, high)]
        expected = [max(0.0, middle - reach[0]), min(1.0, middle + reach[1])]
        assert alone.class_interval[c].tolist() == pytest.approx(expected)
    assert (frame["low"] <= frame["accuracy"]).all()
    assert (frame["accuracy"] <= frame["high"]).all()


def test_classes_that_were_not_asked_about_have_no_interval():
    result = forecast(small_net, blobs(), "C4", missing={1: [0]}, options=FEW)
    assert result.to_frame()["low"].isna().tolist() == [True, False, True]
    assert "trained" not in result.to_frame()
    assert "–" in result._repr_html_()


def test_classes_of_which_nothing_is_missing_have_no_place_in_the_figure():
    result = forecast("mlp", blobs(), "C4", missing="1: 0°", options=FEW)
    [axes] = result.plot().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1"]
    page = forecast_page(result)
    assert '<td class="number">–</td>' in page
    assert '<td class="number"></td>' not in page


def test_groups_of_numbers_have_a_table_too():
    frame = forecast(number_net, spots(), "C4", options=FEW).to_frame()
    assert frame.index.name == "group"
    assert list(frame.columns) == ["explained", "low", "high", "architecture"]
    assert (frame["high"] <= 1).all()


def test_the_figure_has_bars_intervals_and_labelled_axes(checked):
    figure = checked.plot()
    [axes] = figure.axes
    heights = [bar.get_height() for bar in axes.containers[0]]
    np.testing.assert_allclose(heights, checked.class_accuracy.clamp_min(0.008))
    assert axes.get_xlabel() == "class with a missing transformation"
    assert axes.get_ylabel() == "held-out accuracy"
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"forecast", "95 % interval", "trained", "target"} <= set(shown)
    [bars] = [one for one in axes.collections if isinstance(one, LineCollection)]
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, checked.class_interval)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_forecast_is_saved_as_a_page_or_as_numbers(checked, tmp_path):
    checked.save(tmp_path / "mine.html")
    assert "How to repeat it" in (tmp_path / "mine.html").read_text(encoding="utf-8")
    checked.save(str(tmp_path / "mine.json"))
    assert json.loads((tmp_path / "mine.json").read_text(encoding="utf-8")) == checked.to_dict()
    with pytest.raises(InputError, match=r"mine.csv: expected a name that ends in .html .* or .json"):
        checked.save(tmp_path / "mine.csv")
    with pytest.raises(InputError, match="nowhere"):
        checked.save(tmp_path / "nowhere" / "mine.json")


def test_every_part_of_a_forecast_is_shown_in_a_few_hundred_letters(checked):
    prediction = checked.prediction
    parts = (checked, checked.question, checked.model, checked.options, prediction, prediction.resample,
             prediction.resample_prediction, prediction.pairs, checked.equivariance, checked.check,
             checked.check.plan, checked.pilot, checked.pilot.plan, checked.pilot.answers[0])  # fmt: skip
    for part in parts:
        assert len(repr(part)) <= 300
        assert repr(part).startswith(f"{type(part).__name__}(")
    assert "points=[9, 4, 6, 6]" in repr(prediction.resample)


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
    assert result["equivariance"]["layers"][0]["kind"] == "Linear"
    assert result["pilot"]["new"]["accuracy"] == checked.accuracy
    assert result["about"] == "new samples"


def test_the_page_says_everything_and_needs_no_network(checked):
    html = forecast_page(checked, "symscope forecast --group C4")
    titles = ("The forecast", "The check: trained", "Missing cases", "Price list", "The architecture alone")
    for title in (*titles, "Equivariance of the network", "How to repeat it"):
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
        small_net, part, "C4", class_names=names, options=kernel_only(resamples=1)
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


def test_coverage_is_told_in_the_user_s_names():
    data = blobs()
    renumbered = as_question(replace(data, labels=data.labels - 1), "flip", missing={-1: [1]})
    assert _question_data(renumbered)["coverage"] == "-1: without r"
    named = as_question(data, "flip", class_names=("ash", "birch", "elm"), missing={2: [1]})
    assert _question_data(named)["coverage"] == "elm: without r"


def test_ways_to_the_target_follow_the_trainings_where_those_decide(checked, monkeypatch):
    reached = f"trained as it is, it reaches {checked.check.accuracy:.3f}"
    enough = replace(checked.advice[0], kind="nothing", text="Train as you are.", accuracy=0.99)
    more = replace(enough, kind="samples", text="Collect more.", accuracy=0.97)
    result = replace(checked, advice=(enough, more), combinations=())
    monkeypatch.setattr(Forecast, "predicted_answer", property(lambda self: "Yes"))
    monkeypatch.setattr(Forecast, "answer", property(lambda self: "No"))
    assert result.ways_to_target == f"T{reached[1:]}. To reach 0.90: collect more."
    assert replace(result, advice=(enough,)).ways_to_target == f"T{reached[1:]}."
    page = forecast_page(result)
    assert "below the target" in page
    assert "reaches the target" not in page.partition("What if?")[0]
    assert "and the trainings decide." in page
    monkeypatch.setattr(Forecast, "predicted_answer", property(lambda self: "No"))
    monkeypatch.setattr(Forecast, "answer", property(lambda self: "Yes"))
    assert result.ways_to_target == f"Nothing is needed to reach 0.90: {reached}."
