from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from symscope.errors import InputError
from symscope_papers.block_graphs import block_graphs, is_connected
from tests.tolerances import MONTE_CARLO_SIGMAS

PAPER = block_graphs(1000, seed=0)


def components(adjacency: torch.Tensor) -> int:
    return connected_components(adjacency.numpy(), directed=False)[0]


@given(st.integers(1, 20), st.integers(1, 17), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32))
def test_adjacency_matrices_with_exact_labels(count, nodes, p_in, p_out, seed):
    data = block_graphs(count, nodes, p_in, p_out, seed=seed)
    assert data.x.shape == (count, nodes, nodes)
    assert torch.equal(data.x, data.x.mT)
    assert set(data.x.unique().tolist()) <= {0.0, 1.0}
    assert data.x.diagonal(dim1=1, dim2=2).abs().max() == 0
    assert data.labels.tolist() == [int(components(graph) == 1) for graph in data.x]
    assert torch.equal(block_graphs(count, nodes, p_in, p_out, seed=seed).x, data.x)


def test_the_papers_labels_against_scipy_and_the_papers_own_rule():
    assert PAPER.labels.tolist() == [int(components(graph) == 1) for graph in PAPER.x]
    # the paper: all entries of the sum of A^0 .. A^N are positive
    powers = sum(torch.linalg.matrix_power(PAPER.x, k) for k in range(11))
    assert torch.equal((powers > 0).all(-1).all(-1).long(), PAPER.labels)
    assert 100 < int(PAPER.labels.sum()) < 900


def test_seeds_differ():
    assert not torch.equal(block_graphs(5, seed=1).x, block_graphs(5, seed=2).x)
    assert len(PAPER.x.flatten(1).unique(dim=0)) > 990


def test_certain_edges_inside_make_two_cliques():
    data = block_graphs(400, nodes=5, p_in=1.0, p_out=0.0, seed=3)
    together = data.x + torch.eye(5, dtype=torch.float64)
    # being together is an equivalence relation with at most two classes
    assert torch.equal((together @ together > 0).double(), together)
    assert max(components(graph) for graph in data.x) == 2
    # one cluster is empty with probability 2 / 2^5
    p = 2 / 2**5
    assert abs(data.labels.double().mean() - p) < MONTE_CARLO_SIGMAS * math.sqrt(p * (1 - p) / 400)


def test_certain_edges_across_make_complete_bipartite_graphs():
    graphs = block_graphs(50, nodes=6, p_in=0.0, p_out=1.0, seed=4).x
    apart = 1 - graphs
    assert torch.equal((apart @ apart > 0).double(), apart)


def test_edge_frequencies():
    # pairs are together with probability 1/2; edges of one graph share its clusters, so graphs are the sample
    data = block_graphs(4000, nodes=10, p_in=0.5, p_out=0.05, seed=5)
    per_graph = data.x.sum((1, 2)) / 90
    error = per_graph.std() / math.sqrt(4000)
    assert abs(per_graph.mean() - (0.5 * 0.5 + 0.5 * 0.05)) < MONTE_CARLO_SIGMAS * error
    # nodes are alike: every pair has the same frequency
    pairs = data.x.mean(0)[tuple(torch.triu_indices(10, 10, 1))]
    assert (pairs - 0.275).abs().max() < MONTE_CARLO_SIGMAS * math.sqrt(0.275 * 0.725 / 4000)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5, 9, 16, 17, 33])
def test_the_longest_path_is_connected_and_no_longer_without_an_edge(nodes):
    path = torch.diag(torch.ones(nodes - 1), 1) + torch.diag(torch.ones(nodes - 1), -1)
    assert is_connected(path)
    for cut in range(nodes - 1):
        broken = path.clone()
        broken[cut, cut + 1] = broken[cut + 1, cut] = 0
        assert not is_connected(broken)


def test_batches_and_weights():
    graphs = PAPER.x[:12].reshape(3, 4, 10, 10)
    assert torch.equal(is_connected(-2.5 * graphs), PAPER.labels[:12].bool().reshape(3, 4))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"count": 0}, "count: expected an integer of at least 1"),
        ({"nodes": 0}, "nodes: expected an integer of at least 1"),
        ({"p_in": 1.2}, r"p_in: expected a probability in \[0, 1\], got 1.2"),
        ({"p_out": -0.1}, "p_out: expected a probability"),
        ({"p_out": math.nan}, "p_out: expected a probability"),
        ({"seed": -3}, "seed: expected an integer of at least 0"),
    ],
)
def test_bad_parameters(changed, message):
    with pytest.raises(InputError, match=message):
        block_graphs(**{"count": 2, "seed": 0, **changed})


def test_bad_adjacency():
    with pytest.raises(InputError, match="one-way edge"):
        is_connected(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(InputError, match="at least one node"):
        is_connected(torch.zeros(3, 0, 0))
