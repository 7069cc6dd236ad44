"""The words of coverage, against the masks they mean."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.forecasting import forecast
from symscope.forecasting._coverage import Coverage, ElementWords, parse_coverage
from symscope.forecasting._question import as_question
from symscope.groups import cyclic, parse
from tests.forecasting.problems import blobs, kernel_only, small_net

LABELS = torch.tensor([0, 1, 2, 0])
NAMES = {"cats": 0, "dogs, big": 1, "F": 2}


def turning(order):
    return ElementWords(cyclic(order), tuple(f"{360 * k / order:g}°" for k in range(order)), 360 / order)


def rows(seen=None, missing=None, order=8):
    return parse_coverage(LABELS, turning(order), NAMES, seen, missing).seen.int().tolist()


@pytest.mark.parametrize(
    ("words", "elements"),
    [
        ("0°", {0}),
        ("0", {0}),
        ("upright only", {0}),
        ("±45°", {7, 0, 1}),
        ("+-50", {7, 0, 1}),
        ("0..90°", {0, 1, 2}),
        ("270..90°", {6, 7, 0, 1, 2}),
        ("-90° to 0°", {6, 7, 0}),
        ("every 2nd", {0, 2, 4, 6}),
        ("every 90°", {0, 2, 4, 6}),
        ("45°, r^3, #7", {1, 3, 7}),
        ("r..r^3", {1, 2, 3}),
        ("-45°", {7}),
    ],
)
def test_elements_in_words(words, elements):
    expected = [int(g in elements) for g in range(8)]
    assert rows(f"cats: {words}") == [expected, [1] * 8, [1] * 8, expected]
    if len(elements) < 8:
        lacking = [1 - one for one in expected]
        assert rows(missing=f"cats: {words}")[0] == lacking


def test_who_is_meant():
    upright, whole = [1, 0], [1, 1]
    assert rows("upright", order=2) == [upright] * 4
    assert rows("cats, F: upright", order=2) == [upright, whole, upright, upright]
    assert rows("dogs, big: 0", order=2) == [whole, upright, whole, whole]
    assert rows("cats: all; others: upright", order=2) == [whole, upright, upright, whole]
    assert rows(["cats: 0", "F: 180°"], order=2) == [upright, whole, [0, 1], upright]
    assert rows({2: [1]}, order=2) == [whole, whole, [0, 1], whole]
    both = parse_coverage(LABELS, turning(2), NAMES, "cats: 0", "F: 0")
    assert both.seen.int().tolist() == [upright, whole, [0, 1], upright]
    assert both.text == "cats: 0; F: without 0"


@given(st.integers(1, 8), st.integers(0, 3))
def test_random_coverage_has_so_many_of_each_sample_and_repeats(often, seed):
    labels = torch.arange(30) % 3
    made = [parse_coverage(labels, turning(8), NAMES, f"{often} random", seed=seed).seen for _ in range(2)]
    assert torch.equal(*made)
    assert made[0].sum(1).tolist() == [often] * 30


def test_other_groups_have_names_instead_of_angles():
    question = as_question(blobs(), "D4")
    words = ElementWords(question.group, question.element_names, question.degrees)
    assert words.elements("0, 90, mirrored") == [0, 1, 4, 5, 6, 7]
    product = parse("C3xC4")
    plain = ElementWords(product, tuple(product.labels))
    assert plain.elements("(e, r), #0") == [1, 0]
    with pytest.raises(InputError, match="angles are for rotations"):
        plain.elements("±10")
    with pytest.raises(InputError, match="no cyclic group"):
        plain.elements("every 2nd")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cats: 33°", "turns by multiples of 45°; take 0° or 45°"),
        ("cat: 0", "no class 'cat'; did you mean 'cats'"),
        ("cats: sideways", "no element of C8"),
        ("cats: 10..20", "no angle of C8"),
        ("cats:", "expected CLASSES: ELEMENTS"),
        (": 0", "expected CLASSES: ELEMENTS"),
        ("cats: 0; cats: 45", "class cats is said twice"),
        ("cats: 0,,45", "elements between the commas"),
        ("9 random", "expected 1 to 8 random"),
        ("cats: within -5° of upright", "an angle of 0° or more"),
        ("cats: ±-5°", "no element of C8"),
        ("cats: every 9th", "a whole number of steps, 1 to 8"),
        ({5: [0]}, "class 5 is not in the data"),
        ({0: [8]}, "expected elements of C8, 0 to 7"),
        ("", "at least one class"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_sentence(words, message):
    with pytest.raises(InputError, match=message):
        rows(words)


def test_angles_of_a_group_that_does_not_turn_are_refused_with_its_names():
    with pytest.raises(
        InputError, match=r"elements of this C6 are no angles; take names, .* or numbers, #0 to #5"
    ):
        as_question(blobs(), "C6 shift-x", seen="1: 90°")


def test_samples_that_are_never_seen_and_coverage_without_holes_are_refused():
    with pytest.raises(InputError, match="every transformation of class cats is missing"):
        rows(missing="cats: all")
    with pytest.raises(InputError, match="sample 1 has none"):
        Coverage(torch.tensor([[True], [False]]), "")
    with pytest.raises(InputError, match="nothing is missing"):
        as_question(blobs(), "C4", seen="1: all")


def test_data_that_says_how_its_samples_are_turned_is_the_same_question():
    """Samples turned by their own element, with the elements named, have the upright samples' orbits."""
    data = blobs(items=6)
    elements = torch.arange(len(data)) % 4
    turned = torch.stack([torch.rot90(x, -int(k), (-2, -1)) for x, k in zip(data.x, elements, strict=True)])
    sense = as_question(data, "C4").action.act(1, data.x[0])
    if not torch.allclose(sense, torch.rot90(data.x[0], -1, (-2, -1))):
        turned = torch.stack(
            [torch.rot90(x, int(k), (-2, -1)) for x, k in zip(data.x, elements, strict=True)]
        )
    options = kernel_only(per_class=3, resamples=1)
    result = forecast(small_net, (turned, data.labels), "C4", elements=elements * 90, options=options)
    assert result.question.coverage.seen.sum(1).tolist() == [1] * len(data)
    upright = as_question(data, "C4")
    from symscope.forecasting._resample import draw_resample

    torch.testing.assert_close(
        draw_resample(result.question, 3, 0).images, draw_resample(upright, 3, 0).images
    )
    with pytest.raises(InputError, match="one for each of the 18 samples, got 2"):
        forecast(small_net, data, "C4", elements=torch.tensor([0, 90]), options=options)
    with pytest.raises(InputError, match="leave the words out"):
        forecast(small_net, data, "C4", elements=elements * 90, seen="upright", options=options)


@pytest.mark.parametrize("word", ["9" * 400, "±" + "9" * 400, "0.." + "9" * 400, "every " + "9" * 400])
def test_numbers_without_measure_are_refused(word):
    words = ElementWords(cyclic(4), ("0°", "90°", "180°", "270°"), 90.0)
    with pytest.raises(InputError, match="eight digits or more"):
        words.elements(word)
    with pytest.raises(InputError, match="eight digits or more"):
        words.element(word)


def test_rotations_of_space_by_angle_and_axis():
    cube = parse("O")
    words = ElementWords(cube, cube.labels)
    assert len(words.elements("within 90° of upright")) == 7
    assert len(words.elements("within 120")) == 15
    assert len(words.elements("about z")) == 4
    assert [cube.labels[g] for g in words.elements("90° about x, e")] == ["90° about x", "e"]
    full = parse("Oh")
    assert len(ElementWords(full, full.labels).elements("within 180°")) == 24  # none that mirrors
    plane = ElementWords(cyclic(16), tuple(f"{22.5 * k:g}°" for k in range(16)), 22.5)
    assert plane.elements("within 30°") == plane.elements("±30°") == [15, 0, 1]
    with pytest.raises(InputError, match="C3xC3 has no rotation about z"):
        ElementWords(parse("C3xC3"), parse("C3xC3").labels).elements("about z")
    with pytest.raises(InputError, match="angles are for rotations; name elements of S3"):
        ElementWords(parse("S3"), parse("S3").labels).elements("within 30°")
