"""Training: known symmetries are found, seeds are independent, stopping and bad input."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from symscope.discovery import gaussian_data, problem
from symscope.discovery.learned import POINTWISE, LinearAction, MLPAction, Objective, Training, Weights, learn
from symscope.discovery.learned._objective import objective_terms
from symscope.errors import InputError
from tests.tolerances import STACKED

SHORT = Training(steps=4, samples=30, held_out=8, minibatch=8, look_every=2)


def linear_net(*sizes: int) -> nn.Module:
    return nn.Sequential(*[nn.Linear(a, b, bias=False) for a, b in pairwise(sizes)])


@pytest.fixture(scope="module")
def scalar():
    return problem(linear_net(1, 1, 1), "squared", gaussian_data((1,), (1,)))


def test_linear_action_finds_the_rescaling(scalar):
    settings = Training(steps=150, samples=300, learning_rate=3e-2, look_every=50)
    found = learn(
        scalar,
        1,
        dependent=False,
        seeds=[0, 1],
        objective=Objective(),
        training=settings,
        action=lambda seed: LinearAction(),
    )
    for h in found.generators[:, 0]:
        cosine = (h[0, 0] - h[1, 1]) / (2**0.5 * h.norm())
        assert abs(float(cosine)) > 0.99
    assert bool((found.totals() <= found.curves["total"][0]).all())


def test_the_network_finds_the_rescaling_field(scalar):
    settings = Training(steps=300, samples=500, learning_rate=4e-3, look_every=100, minibatch=32)
    found = learn(scalar, 1, dependent=False, seeds=[0], objective=Objective(), training=settings)
    sample = scalar.sample(200, 1, seed=77)
    known = sample.theta * torch.tensor([1.0, -1.0])
    cosines = torch.cosine_similarity(found.values(0, sample)[0], known).abs()
    random = torch.cosine_similarity(torch.randn_like(known), known).abs()
    assert float(cosines.median()) > 0.97
    assert float(cosines.median()) > float(random.median())


@pytest.mark.parametrize("form", ["infinitesimal", "integrated"])
@pytest.mark.parametrize("dependent", [False, True])
def test_seeds_do_not_see_each_other(form, dependent):
    made = problem(linear_net(2, 2, 1), "squared", gaussian_data((2,), (1,)))
    run = {"dependent": dependent, "objective": Objective(form=form), "training": SHORT}
    together = learn(made, 2, seeds=[4, 9], **run)
    alone = learn(made, 2, seeds=[4], **run)
    torch.testing.assert_close(together.generators[0], alone.generators[0], atol=STACKED, rtol=0)
    torch.testing.assert_close(
        together.curves["total"][:, 0], alone.curves["total"][:, 0], atol=STACKED, rtol=0
    )
    again = learn(made, 2, seeds=[4, 9], **run)
    assert torch.equal(again.generators, together.generators)


def test_known_gradients_and_jacobian_vector_products_train_alike(scalar, monkeypatch):
    run = {"dependent": False, "seeds": [0], "objective": Objective(), "training": SHORT}
    known = learn(scalar, 1, **run)
    monkeypatch.setattr("symscope.discovery.learned._learning.GRADIENT_BYTES", 0)
    products = learn(scalar, 1, **run)
    torch.testing.assert_close(known.generators, products.generators, atol=STACKED, rtol=0)


def test_it_stops_when_nothing_gets_better_and_keeps_the_best(scalar):
    eager = Training(
        steps=200, samples=30, held_out=8, look_every=1, patience=2, learning_rate=5.0, decay_every=0
    )
    heard: list[int] = []
    found = learn(
        scalar,
        1,
        dependent=False,
        seeds=[0],
        objective=Objective(),
        training=eager,
        progress=lambda what, step, steps: heard.append(step),
    )
    assert found.stopped_early
    assert found.looked_at[-1] < 200
    assert heard == list(found.looked_at)
    kept = found.looked_at.index(int(found.best[0]))
    assert float(found.curves["total"][kept, 0]) == float(found.totals()[0])


def test_the_global_random_state_is_left_alone(scalar):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    learn(scalar, 1, dependent=True, seeds=[0], objective=Objective(), training=SHORT)
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_held_out_axiom_of_many_generators_looks_at_some_pairs(scalar, monkeypatch):
    seen = []

    def watched(*arguments, **options):
        seen.append(len(arguments[6].pairs))
        return objective_terms(*arguments, **options)

    monkeypatch.setattr("symscope.discovery.learned._learning.objective_terms", watched)
    short = Training(steps=1, samples=30, held_out=8)
    found = learn(scalar, 80, dependent=True, seeds=[0], objective=Objective(), training=short)
    assert found.generators.shape[1] == 80
    assert max(seen) == 80 * 79 // 2 // 13 + 1  # 3160 pairs, every 13th


def test_a_group_of_another_size_and_an_action_of_ones_own(scalar):
    made = learn(
        scalar,
        2,
        dependent=False,
        seeds=[0],
        objective=Objective(),
        training=SHORT,
        size=3,
        action=lambda seed: MLPAction(2, 0, 3, hidden=(4,), exact_identity=True),
    )
    assert made.generators.shape == (1, 2, 3, 3)
    assert float(made.curves["identity"].max()) < 1e-12


def test_single_precision():
    made = problem(linear_net(1, 1, 1), "squared", gaussian_data((1,), (1,)), dtype=torch.float32)
    found = learn(made, 1, dependent=True, seeds=[0], objective=Objective(), training=SHORT)
    assert found.generators.dtype == torch.float32


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"steps": 0}, "steps: expected at least 1"),
        ({"patience": 0}, "patience: expected at least 1"),
        ({"axiom_every": 0}, "axiom_every: expected at least 1"),
        ({"decay": 0.0}, r"a decay in \(0, 1\]"),
        ({"learning_rate": 0.0}, "a positive learning rate"),
    ],
)
def test_impossible_trainings_are_refused(bad, words):
    with pytest.raises(InputError, match=words):
        Training(**bad)


def test_bad_input(scalar):
    run = {"dependent": False, "objective": Objective(), "training": SHORT}
    with pytest.raises(InputError, match="at least one generator, different seeds"):
        learn(scalar, 0, seeds=[0], **run)
    with pytest.raises(InputError, match="different seeds"):
        learn(scalar, 1, seeds=[1, 1], **run)
    with pytest.raises(InputError, match=r"the limit is 1 GiB \(2 parameters\); give a smaller `size`"):
        learn(scalar, 1, seeds=[0], size=20_000, **run)
    with pytest.raises(InputError, match="the action must take"):
        learn(scalar, 1, seeds=[0], action=lambda seed: nn.Linear(2, 2), **run)
    with pytest.raises(InputError, match=r"generators: expected at most 2, one for each parameter, got 3"):
        learn(scalar, 3, seeds=[0], **{**run, "objective": POINTWISE})
    wild = Training(steps=4, samples=30, held_out=8, look_every=1, learning_rate=1e200)
    with pytest.raises(InputError, match=r"not finite at step .* for seeds \[0\]; lower the learning rate"):
        learn(scalar, 1, dependent=False, seeds=[0], objective=Objective(Weights(norm=0)), training=wild)
