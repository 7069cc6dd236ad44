"""How targets change, in all the ways a user may say it, and what is refused."""

from __future__ import annotations

import math

import pytest
import torch

from symscope.data import MeasuredData, custom_action, rotation
from symscope.errors import InputError
from symscope.forecasting._cautions import label_cautions
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._target_rows import suggested_target
from symscope.forecasting._targets import grouped
from symscope.groups import Representation, cyclic, permutation
from tests.forecasting.problems import arrows, failing, own_turn


def turns(vectors, k):
    """Vectors turned by k quarter turns, counterclockwise."""
    angle = k * math.pi / 2
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return vectors @ turn.double().T


@pytest.mark.parametrize("given_as", ["vector", "function", "action", "representation"])
def test_the_orbit_of_targets_is_the_one_that_was_said(given_as):
    data = arrows(items=12)
    matrices = torch.stack([turns(torch.eye(2).double(), k).T for k in range(4)])
    said = {
        "vector": "vector",
        "function": own_turn,
        "action": custom_action(cyclic(4), own_turn, 1, "own"),
        "representation": _representation(matrices),
    }[given_as]
    question = as_question(data, "C4", target_action=said)
    for k in range(4):
        assert torch.allclose(question.targets.values[:, k], turns(data.targets, k), atol=1e-12)
    standard = question.targets.standardised
    for k in range(4):  # standardised numbers transform as the numbers do
        assert torch.allclose(standard[:, k], turns(standard[:, 0], k), atol=1e-12)
    assert float(standard.square().mean()) == pytest.approx(1.0)
    assert question.class_names[0] == "smallest fifth"
    sizes = data.targets.norm(dim=1)
    assert float(sizes[question.data.labels == 0].max()) <= float(sizes[question.data.labels == 4].min())
    samples = forecast_samples(question, 0)
    assert torch.allclose(samples.known.wanted.double(), standard[samples.known.indices], atol=1e-6)
    # what moves outputs back undoes the action
    back = samples.moved_back(samples.known.wanted.double())
    assert torch.allclose(back, back[:, :1].expand_as(back), atol=1e-6)


def _representation(matrices):
    return Representation(cyclic(4), 2, "turn", lambda g, x: x @ matrices[g].T)


def test_targets_of_samples_that_the_data_holds_turned_are_counted_from_the_upright():
    data = arrows(items=12)
    elements = [k % 4 for k in range(12)]
    turned = torch.stack([torch.rot90(x, k, (-2, -1)) for x, k in zip(data.x, elements, strict=True)])
    y = torch.stack([turns(v[None], k)[0] for v, k in zip(data.targets, elements, strict=True)])
    held = MeasuredData(turned, y, "held", "tests")
    angles = [f"{90 * k}" for k in elements]
    question = as_question(held, "C4", elements=angles, target_action="vector")
    for k in range(4):
        assert torch.allclose(question.targets.values[:, k], turns(data.targets, k), atol=1e-12)


def test_vectors_and_maps_without_a_word_get_a_question():
    data = arrows(items=12)
    with pytest.raises(InputError, match=r"--target-action vector, same or .*The data cannot tell"):
        as_question(data, "C4")
    three = MeasuredData(data.x, torch.rand(12, 3).double(), "three", "tests")
    with pytest.raises(InputError, match=r"vectors of 3 numbers.*--target-action same or FILE"):
        as_question(three, "C4")  # images turn no vectors in space
    with pytest.raises(InputError, match="--target-action image, same or"):
        as_question(MeasuredData(data.x, data.x, "maps", "tests"), "C4")
    assert as_question(MeasuredData(data.x, data.targets[:, 0], "one", "tests"), "C4").target_action is None


def test_the_data_suggests_what_its_targets_do():
    data = arrows(items=400, seed=1)  # spots are everywhere: turned samples look like the data
    assert "suggests vector" in suggested_target(data, rotation(4), "vector")
    sizes = data.targets.norm(dim=1)
    still = MeasuredData(data.x, torch.stack([sizes, sizes.square()], 1), "still", "tests")
    assert "suggests same" in suggested_target(still, rotation(4), "vector")


def doubled(g, y):
    """No representation of C4: twice the size for every element but the identity."""
    return 2 * y if g else y


def shifted(g, y):
    """Not linear."""
    return y + g


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (doubled, "target action doubled is no representation of C4"),
        (shifted, "target action shifted: expected a linear map"),
        (failing, "target action failing: its function"),
        (rotation(8), "expected an action of C4"),
        (permutation(cyclic(8)), "it acts on 8 numbers"),
        (2 * permutation(cyclic(1)), "expected an action of C4"),
        ("image", "expected outputs with 2 axes"),
        ("vectr", "vector"),
    ],
)
def test_what_is_no_target_action_is_refused_in_one_line(said, message):
    with pytest.raises(InputError, match=message) as caught:
        as_question(arrows(items=12), "C4", target_action=said)
    assert "\n" not in str(caught.value)


def test_targets_of_the_wrong_shape_and_classes_are_refused():
    data = arrows(items=12)
    three = MeasuredData(data.x, torch.rand(12, 3).double(), "three", "tests")
    with pytest.raises(InputError, match="last axis has length 2, x and y, or 3 for points"):
        as_question(three, "C4", target_action="vector")
    cloud = MeasuredData(torch.rand(12, 4, 3).double(), torch.rand(12, 2).double(), "cloud", "tests")
    with pytest.raises(InputError, match=r"expected targets whose last axis has length 3, .* shape \(2,\)"):
        as_question(cloud, "T", target_action="vector")
    labelled, _ = grouped(MeasuredData(data.x, data.targets[:, 0], "one", "tests"))
    with pytest.raises(InputError, match="has classes, which no transformation changes"):
        as_question(labelled, "C4", target_action="vector")


def test_a_sample_that_an_element_keeps_while_it_changes_the_target_is_refused():
    data = arrows(items=12)
    x = data.x.clone()
    x[3] = x[3] + torch.rot90(x[3], 2, (-2, -1))
    question = as_question(MeasuredData(x, data.targets, "kept", "tests"), "C4", target_action="vector")
    with pytest.raises(InputError, match="sample 3 is the same under 180°, which changes its target"):
        forecast_samples(question, 0)


def turned_back(g, y):
    """C4 on vectors, the other way round."""
    return own_turn(-g % 4, y)


@pytest.mark.parametrize(
    ("said", "word"), [("vector", None), ("same", "stay the same"), (turned_back, "turned")]
)
def test_what_was_said_of_targets_is_tried_on_the_data(said, word):
    question = as_question(arrows(items=400, seed=1), "C4", target_action=said)
    whole, part = label_cautions(forecast_samples(question, 0), question)
    if word is None:
        assert (whole, part) == ((), ())
    else:
        [caution] = whole
        assert word in caution
        assert "left out of the price list" in caution
