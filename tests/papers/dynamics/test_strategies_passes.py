"""Passes over mini-batches: distribution of the elements, shares, refusals."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics import TrainingProblem, declare_network
from symscope.groups import cyclic, permutation, symmetric, trivial
from symscope.groups.compact import so
from symscope.groups.constructions import defining
from symscope.groups.named_groups import alternating
from symscope.networks.losses import half_squared_loss
from symscope_papers.dynamics.strategies.passes import drawn_passes, elements_drawn
from tests.tolerances import MONTE_CARLO_SIGMAS


def cyclic_problem(batches=3):
    g = cyclic(4)
    v = permutation(g)
    x = torch.randn(batches, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return TrainingProblem(declare_network([v, v]), half_squared_loss, x, 2 * x)


def test_every_element_comes_as_often_as_its_weight_says():
    problem, weights = cyclic_problem(400), [0.1, 0.2, 0.3, 0.4]
    seen = drawn_passes(problem, 25, [torch.Generator().manual_seed(1)], weights)
    table = torch.stack([torch.argsort(problem.network.sources[0].permutation(g)) for g in range(4)])
    for g, weight in enumerate(weights):
        mine = (seen.source[0] == table[g]).all(-1)
        share = float(seen.shares[0, mine].sum())
        error = (weight * (1 - weight) / 10_000) ** 0.5
        assert abs(share - weight) < MONTE_CARLO_SIGMAS * error
    assert torch.equal(seen.source, seen.target)


def test_inputs_and_targets_move_together():
    problem = cyclic_problem()
    x, y = drawn_passes(problem, 2, [torch.Generator().manual_seed(2)]).data(problem)
    torch.testing.assert_close(2 * x, y)


def test_every_pass_is_counted_once_for_each_run():
    problem = cyclic_problem()
    seen = drawn_passes(problem, 25, [torch.Generator().manual_seed(s) for s in range(3)])
    assert len(seen) <= 12
    torch.testing.assert_close(seen.shares.sum(1), torch.ones(3, dtype=torch.float64))
    per_batch = torch.zeros(3, 3, dtype=torch.float64).index_add_(1, seen.batch, seen.shares)
    torch.testing.assert_close(per_batch, torch.full((3, 3), 1 / 3, dtype=torch.float64))


def test_symmetric_groups_are_drawn_uniformly_others_from_their_chain():
    drawn = elements_drawn(symmetric(9), 6000, torch.Generator().manual_seed(0))
    where = torch.nn.functional.one_hot(drawn, 9).double().mean(0)  # P(i -> j) = 1 / 9
    error = (1 / 9 * 8 / 9 / 6000) ** 0.5
    assert float((where - 1 / 9).abs().max()) < 1.2 * MONTE_CARLO_SIGMAS * error
    even = elements_drawn(alternating(8), 20, torch.Generator().manual_seed(0))
    signs = torch.stack([torch.linalg.det(torch.eye(8, dtype=torch.float64)[p]) for p in even])
    assert bool((signs > 0).all())


def test_bad_input_is_refused():
    problem, generator = cyclic_problem(), torch.Generator()
    with pytest.raises(InputError, match="expected at least one pass"):
        drawn_passes(problem, 0, [generator])
    with pytest.raises(InputError, match="expected 4 weights of 0 or more"):
        drawn_passes(problem, 1, [generator], [1.0, -1.0, 1.0, 1.0])
    g = symmetric(9)
    large = TrainingProblem(
        declare_network([permutation(g), trivial(g)]),
        half_squared_loss,
        torch.ones(1, 2, 9),
        torch.ones(1, 2, 1),
    )
    with pytest.raises(InputError, match="are not listed"):
        drawn_passes(large, 1, [generator], [1.0])
    turning = defining(so(3))
    smooth = TrainingProblem(
        declare_network([turning, turning]), half_squared_loss, torch.ones(1, 2, 3), torch.ones(1, 2, 3)
    )
    with pytest.raises(InputError, match="coordinates are permuted"):
        drawn_passes(smooth, 1, [generator])
