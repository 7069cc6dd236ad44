"""The problems of the group experiment."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.data.synthetic import is_connected
from symscope_papers.spectral.group_orbits_cases import CASES, Sizes, different_graphs, problem

SIZES = Sizes(seeds=2, side=14, shifts=(2, 7), nodes=5, points=4)


@pytest.mark.parametrize("case", CASES)
def test_kernels_respect_their_groups(case):
    """`k(g x, g y) = k(x, y)` on samples, whatever the exact form makes of it."""
    asked = problem(case, SIZES, seed=1, device="cpu")
    x, y = asked.seeds[:1], asked.seeds[1:]
    before = asked.kernel(x, y)
    for g in (1, asked.action.group.order // 2, asked.action.group.order - 1):
        after = asked.kernel(asked.action.act(g, x), asked.action.act(g, y))
        torch.testing.assert_close(after, before, rtol=1e-7, atol=0)
    assert asked.labels.tolist() == [1, 1, -1, -1]


def test_only_graphs_have_symmetric_seeds():
    for case in CASES:
        kept = problem(case, SIZES, seed=0, device="cpu").stabilisers
        assert all(len(one) > 1 for one in kept) == case.startswith("graph")


def test_graphs_are_different_up_to_names():
    graphs = different_graphs(5, 5, seed=3)
    assert is_connected(graphs).tolist() == [True] * 5 + [False] * 5
    spectra = torch.linalg.eigvalsh(
        graphs
    )  # graphs on five nodes: equal spectra and degrees mean equal graphs
    degrees = graphs.sum(2).sort(dim=1).values
    names = torch.cat([spectra, degrees], dim=1).round(decimals=6)
    assert len(names.unique(dim=0)) == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: problem("d5-mlp", SIZES, 0, "cpu"), "cases: expected some of d4-mlp, .* got 'd5-mlp'"),
        (lambda: different_graphs(9, 3, seed=0), "there are not 9 different graphs of each class on 3 nodes"),
        (lambda: problem("set-mlp", Sizes(1, 14, (1, 1), 4, 1), 0, "cpu"), "sets of 2 points or more, got 1"),
        (lambda: problem("d4-mlp", Sizes(1, 15, (1, 1), 4, 2), 0, "cpu"), "14 or 28 pixels, got 15"),
    ],
)
def test_bad_problems_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
