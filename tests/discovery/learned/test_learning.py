"""Training: known symmetries are found, seeds are independent, stopping and bad input."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from symscope.discovery import gaussian_data, parameter_problem
from symscope.discovery.learned import (
    POINTWISE,
    ActionTraining,
    LearningObjective,
    LinearAction,
    MLPAction,
    TermWeights,
    learn_actions,
)
from symscope.discovery.learned._objective import objective_terms
from symscope.errors import InputError
from tests.tolerances import STACKED

SHORT = ActionTraining(steps=4, points=30, held_out=8, minibatch=8, evaluate_every=2)


def linear_net(*sizes: int) -> nn.Module:
    return nn.Sequential(*[nn.Linear(a, b, bias=False) for a, b in pairwise(sizes)])


@pytest.fixture(scope="module")
def scalar():
    return parameter_problem(linear_net(1, 1, 1), "squared", gaussian_data((1,), (1,)))


def test_linear_action_finds_the_rescaling(scalar):
    settings = ActionTraining(steps=150, points=300, learning_rate=3e-2, evaluate_every=50)
    result = learn_actions(
        scalar,
        1,
        dependent=False,
        seeds=[0, 1],
        objective=LearningObjective(),
        training=settings,
        action=lambda seed: LinearAction(),
    )
    for h in result.generators[:, 0]:
        cosine = (h[0, 0] - h[1, 1]) / (2**0.5 * h.norm())
        assert abs(float(cosine)) > 0.99
    assert bool((result.totals() <= result.curves["total"][0]).all())


def test_the_network_finds_the_rescaling_field(scalar):
    settings = ActionTraining(steps=300, points=500, learning_rate=4e-3, evaluate_every=100, minibatch=32)
    result = learn_actions(
        scalar, 1, dependent=False, seeds=[0], objective=LearningObjective(), training=settings
    )
    sample = scalar.random_points(200, 1, seed=77)
    known = sample.theta * torch.tensor([1.0, -1.0])
    cosines = torch.cosine_similarity(result.values(0, sample)[0], known).abs()
    random = torch.cosine_similarity(torch.randn_like(known), known).abs()
    assert float(cosines.median()) > 0.97
    assert float(cosines.median()) > float(random.median())


@pytest.mark.parametrize("form", ["infinitesimal", "integrated"])
@pytest.mark.parametrize("dependent", [False, True])
def test_seeds_do_not_see_each_other(form, dependent):
    made = parameter_problem(linear_net(2, 2, 1), "squared", gaussian_data((2,), (1,)))
    run = {"dependent": dependent, "objective": LearningObjective(form=form), "training": SHORT}
    together = learn_actions(made, 2, seeds=[4, 9], **run)
    alone = learn_actions(made, 2, seeds=[4], **run)
    torch.testing.assert_close(together.generators[0], alone.generators[0], atol=STACKED, rtol=0)
    torch.testing.assert_close(
        together.curves["total"][:, 0], alone.curves["total"][:, 0], atol=STACKED, rtol=0
    )
    again = learn_actions(made, 2, seeds=[4, 9], **run)
    assert torch.equal(again.generators, together.generators)


def test_known_gradients_and_jacobian_vector_products_train_alike(scalar, monkeypatch):
    run = {"dependent": False, "seeds": [0], "objective": LearningObjective(), "training": SHORT}
    known = learn_actions(scalar, 1, **run)
    monkeypatch.setattr("symscope.discovery.learned._learning.GRADIENT_BYTES", 0)
    products = learn_actions(scalar, 1, **run)
    torch.testing.assert_close(known.generators, products.generators, atol=STACKED, rtol=0)


def test_it_stops_when_nothing_gets_better_and_keeps_the_best(scalar):
    eager = ActionTraining(
        steps=200, points=30, held_out=8, evaluate_every=1, patience=2, learning_rate=5.0, decay_every=0
    )
    heard: list[int] = []
    result = learn_actions(
        scalar,
        1,
        dependent=False,
        seeds=[0],
        objective=LearningObjective(),
        training=eager,
        progress=lambda what, step, steps: heard.append(step),
    )
    assert result.stopped_early
    assert result.recorded_steps[-1] < 200
    assert heard == list(result.recorded_steps)
    kept = result.recorded_steps.index(int(result.best[0]))
    assert float(result.curves["total"][kept, 0]) == float(result.totals()[0])


def test_the_global_random_state_is_left_alone(scalar):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    learn_actions(scalar, 1, dependent=True, seeds=[0], objective=LearningObjective(), training=SHORT)
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_held_out_axiom_of_many_generators_looks_at_some_pairs(scalar, monkeypatch):
    seen = []

    def watched(*arguments, **options):
        seen.append(len(arguments[6].pairs))
        return objective_terms(*arguments, **options)

    monkeypatch.setattr("symscope.discovery.learned._learning.objective_terms", watched)
    short = ActionTraining(steps=1, points=30, held_out=8)
    result = learn_actions(
        scalar, 80, dependent=True, seeds=[0], objective=LearningObjective(), training=short
    )
    assert result.generators.shape[1] == 80
    assert max(seen) == 80 * 79 // 2 // 13 + 1  # 3160 pairs, every 13th


def test_a_group_of_another_size_and_an_action_of_ones_own(scalar):
    made = learn_actions(
        scalar,
        2,
        dependent=False,
        seeds=[0],
        objective=LearningObjective(),
        training=SHORT,
        size=3,
        action=lambda seed: MLPAction(2, 0, 3, hidden=(4,), exact_identity=True),
    )
    assert made.generators.shape == (1, 2, 3, 3)
    assert float(made.curves["identity"].max()) < 1e-12


def test_single_precision():
    made = parameter_problem(linear_net(1, 1, 1), "squared", gaussian_data((1,), (1,)), dtype=torch.float32)
    result = learn_actions(made, 1, dependent=True, seeds=[0], objective=LearningObjective(), training=SHORT)
    assert result.generators.dtype == torch.float32


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"steps": 0}, "steps: expected an integer of at least 1"),
        ({"patience": 0}, "patience: expected an integer of at least 1"),
        ({"axiom_every": 0}, "axiom_every: expected an integer of at least 1"),
        ({"decay": 0.0}, r"a decay in \(0, 1\]"),
        ({"learning_rate": 0.0}, "a positive learning rate"),
    ],
)
def test_impossible_trainings_are_refused(bad, words):
    with pytest.raises(InputError, match=words):
        ActionTraining(**bad)


def test_bad_input(scalar):
    run = {"dependent": False, "objective": LearningObjective(), "training": SHORT}
    with pytest.raises(InputError, match="at least one generator, different seeds"):
        learn_actions(scalar, 0, seeds=[0], **run)
    with pytest.raises(InputError, match="different seeds"):
        learn_actions(scalar, 1, seeds=[1, 1], **run)
    with pytest.raises(InputError, match=r"the limit is 1 GiB \(2 parameters\); give a smaller `size`"):
        learn_actions(scalar, 1, seeds=[0], size=20_000, **run)
    with pytest.raises(InputError, match="the action must take"):
        learn_actions(scalar, 1, seeds=[0], action=lambda seed: nn.Linear(2, 2), **run)
    with pytest.raises(InputError, match=r"generators: expected at most 2, one for each parameter, got 3"):
        learn_actions(scalar, 3, seeds=[0], **{**run, "objective": POINTWISE})
    wild = ActionTraining(steps=4, points=30, held_out=8, evaluate_every=1, learning_rate=1e200)
    with pytest.raises(InputError, match=r"not finite at step .* for seeds \[0\]; lower the learning rate"):
        learn_actions(
            scalar,
            1,
            dependent=False,
            seeds=[0],
            objective=LearningObjective(TermWeights(norm=0)),
            training=wild,
        )
