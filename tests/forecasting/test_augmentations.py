"""Which elements an augmentation adds, for each sample."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.forecasting._augmentations import Augmentation, augmentations
from symscope.forecasting._compressed_training import StepCost
from symscope.forecasting._designs import Design
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._question import as_question
from symscope.forecasting._remedy_trials import augmentation_trial, remedy_trials
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._trainings import Trainings
from symscope.forecasting.methods import DesignTrainer
from symscope.networks import user_model
from symscope.training import Optimiser, StepPlan
from tests.forecasting.problems import blobs

PLAN = PilotPlan((600,), 1, 1, StepPlan(3000, 32, Optimiser("adam", 1e-3)), 1, 200, 9, 1.0, StepCost())


def asked(group="C8", seen="0,1: upright"):
    return as_question(blobs(items=20), group, seen=seen)


@given(order=st.integers(2, 12), data=st.data(), seed=st.integers(0, 99))
def test_so_many_elements_are_drawn_for_each_sample_among_those_allowed(order, data, seed):
    allowed = torch.zeros(order, dtype=torch.bool)
    places = data.draw(st.lists(st.integers(0, order - 1), min_size=1, unique=True))
    allowed[places] = True
    count = data.draw(st.integers(1, len(places)))
    mask = Augmentation("drawn", allowed, count, "").mask(7, seed)
    assert mask.sum(1).tolist() == [count] * 7
    assert not bool(mask[:, ~allowed].any())
    assert torch.equal(mask, Augmentation("drawn", allowed, count, "").mask(7, seed))


def test_every_element_is_drawn_as_often_as_any_other():
    samples, order, count = 4000, 5, 2
    mask = Augmentation("drawn", torch.ones(order, dtype=torch.bool), count, "").mask(samples, 3)
    share = count / order
    error = math.sqrt(share * (1 - share) / samples)
    assert (mask.double().mean(0) - share).abs().max() < 4 * error
    together = (mask[:, 0] & mask[:, 3]).double().mean()  # two of five without replacement: 2/5 * 1/4
    assert abs(float(together) - 0.1) < 4 * math.sqrt(0.1 * 0.9 / samples)


def test_what_is_tried_for_turns_in_words():
    rows = augmentations(asked(), True)
    assert [one.which for one in rows] == [
        "all 8 elements of C8, every 45°,",
        "4 of 8 elements of C8, every 90°,",
        "2 of 8 elements of C8, every 180°,",
        "2 of 8 elements of C8, drawn at random,",
        "5 of 8 elements of C8, within 90° of upright,",
    ]
    assert rows[-1].elements.nonzero()[:, 0].tolist() == [0, 1, 2, 6, 7]
    assert augmentations(asked(), False) == []


@pytest.mark.parametrize(
    ("group", "kinds"),
    [
        ("C4", ["spread", "spread", "drawn"]),
        ("C3 shift-x", ["spread"]),
        ("D4", ["spread", "drawn"]),
        ("flip", ["spread"]),
    ],
)
def test_ranges_are_for_turns_and_draws_for_groups_of_some_size(group, kinds):
    assert [one.kind for one in augmentations(asked(group), True)] == kinds


def test_what_adds_the_same_is_tried_once():
    """Of what ±90° lack, every 90° and every 180° both add 180° alone."""
    question = asked(seen="0,1: ±90°")
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(user_model("mlp", question.shape, question.outputs), samples, torch.device("cpu"))
    trials = remedy_trials(question, trainer, PLAN, 0, True, Trainings(), spare=math.inf)
    augmented = [one for one in trials if one.kind == "augment"]
    assert [(one.added.count, one.added.kind) for one in augmented] == [
        (8, "spread"),
        (4, "spread"),
        (2, "drawn"),
    ]


def test_what_adds_nothing_is_not_tried():
    question = asked(seen="0,1: ±90°")
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(user_model("mlp", question.shape, question.outputs), samples, torch.device("cpu"))
    trials = [augmentation_trial(question, trainer, PLAN, 0, one) for one in augmentations(question, True)]
    added = [trial[0].added.kind for trial in trials if trial]
    assert added == ["spread", "spread", "spread", "drawn"]  # the range is there already
    [drawn] = trials[-2]
    [training] = drawn.trainings
    assert isinstance(training.design, Design)
    extra = training.design.seen & ~training.asked.seen
    assert 0 < int(extra.sum()) < 2 * len(samples.known)
    assert bool((training.design.seen >= training.asked.seen).all())
    assert torch.equal(training.design.missing, training.asked.missing)  # asked about the same as before
