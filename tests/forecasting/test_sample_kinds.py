"""Forecasts of point clouds, series and graphs, and of continuous groups."""

from __future__ import annotations

import pytest
import torch

from symscope.data import LabelledData
from symscope.errors import InputError
from symscope.forecasting import forecast
from symscope.forecasting._orbit_points import sample_points
from symscope.forecasting._question import as_question
from symscope.forecasting._remedy_trials import augmentations
from tests.forecasting.problems import FEW


def samples(*shape: int, seed: int = 0) -> LabelledData:
    generator = torch.Generator().manual_seed(seed)
    means = torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    x = means.repeat_interleave(6, 0) + 0.1 * torch.randn(
        12, *shape, generator=generator, dtype=torch.float64
    )
    return LabelledData(x, torch.arange(2).repeat_interleave(6), "mine", "tests")


def test_a_cloud_is_turned_as_points_and_the_answer_says_what_stands_for_the_group():
    answer = forecast("mlp", samples(5, 3), "SO(3)", options=FEW)
    assert answer.question.kind == "points"
    assert "(SO(3) through I, points)" in answer.verdict
    assert answer.notes[0] == "SO(3) through I, 60 elements: averages over it are exact up to degree 5."
    assert answer.to_dict()["question"]["stands_for"] == answer.question.action.note
    assert answer.prediction.invariance_error < 1e-10  # every layer of an mlp is, and turning is exact


@pytest.mark.parametrize(("action", "shape"), [("I", (5, 3)), ("points:3 O", (5, 4)), ("C5", (7, 2))])
def test_standardising_a_cloud_commutes_with_turning_it(action, shape):
    data = samples(*shape)
    question = as_question(data, action, standardise=True)
    points = sample_points(question, data)[1]
    size = question.coordinates
    assert torch.allclose(question.action.act_all(points[:, 0]), points)
    assert torch.allclose(points[..., :size].mean(-2), torch.zeros(()).double(), atol=1e-12)
    assert torch.allclose(points[..., :size].square().flatten(2).mean(2), torch.ones(()).double())
    assert torch.equal(points[..., size:], data.x[:, None, :, size:].expand_as(points[..., size:]))


@pytest.mark.parametrize(
    ("action", "shape", "kind", "scaled"),
    [
        ("D4 shift", (8,), "series", True),
        ("SO(2)", (2, 32), "series", True),
        ("S4", (4, 4), "graph", False),
        ("C4 nodes", (4, 3), "set", False),
        ("O(2)", (6, 6), "image", True),
    ],
)
def test_kinds_and_what_is_standardised(action, shape, kind, scaled):
    question = as_question(samples(*shape), action)
    assert (question.kind, question.standardised) == (kind, scaled)


def test_partial_ranges_of_continuous_groups():
    plane = as_question(samples(7, 2), "SO(2)", seen="0: ±30°")
    assert plane.group_notes[1] == "Of these elements '0: ±30°' holds 0°, 22.5°, 337.5°."
    assert plane.coverage.seen[0].nonzero()[:, 0].tolist() == [0, 1, 15]
    space = as_question(samples(7, 3), "SO(3)", seen="0: within 72° of upright")
    assert int(space.coverage.seen[0].sum()) == 13
    assert bool(space.coverage.seen[6:].all())


def test_an_augmentation_may_take_fewer_elements_that_are_spread_evenly():
    space = as_question(samples(7, 3), "SO(3)", seen="0: within 72° of upright")
    everything, tetrahedral, drawn = augmentations(space, True)
    assert (everything.count, tetrahedral.count, drawn.count) == (60, 12, 15)
    chosen = tetrahedral.elements.nonzero()[:, 0].tolist()
    assert len(chosen) == 12
    assert all(tetrahedral.elements[space.group.multiply(a, b)] for a in chosen for b in chosen)
    plane = as_question(samples(7, 2), "SO(2)", seen="0: ±30°")
    assert [(one.count, one.kind) for one in augmentations(plane, True)] == [
        (16, "spread"),
        (8, "spread"),
        (4, "spread"),
        (4, "drawn"),
        (9, "range"),
    ]
    assert augmentations(as_question(samples(7, 2), "SO(2)"), True) == []


@pytest.mark.parametrize(
    ("shape", "action", "message"),
    [
        ((8, 8), "I", r"expected clouds \[points, 2\] or \[points, 3\]"),
        ((8, 8), "SO(3)", r"expected clouds \[points, 3\] for I"),
        ((9, 3), "C8 shift-x", "divides the width 3"),
        ((8,), "C8", r"shift-x and flip \(--action\)"),
    ],
)
def test_an_action_for_another_kind(shape, action, message):
    with pytest.raises(InputError, match=message):
        as_question(samples(*shape), action)
