from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data import as_samples
from symscope.data.graphs import dense_graphs
from symscope.errors import InputError


def graph(edges, nodes, **more):
    """What torch_geometric's Data is to us: attributes."""
    return SimpleNamespace(edge_index=torch.tensor(edges).reshape(-1, 2).T, num_nodes=nodes, **more)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8), st.integers(5, 7))
def test_every_edge_is_an_entry_and_padding_has_none(edges, nodes):
    matrix = dense_graphs([graph(edges, 5)], nodes)[0]
    assert matrix.shape == (nodes, nodes)
    for i in range(nodes):
        for j in range(nodes):
            assert matrix[i, j] == edges.count((i, j))


def test_weights_and_one_number_for_each_node():
    one = graph([[0, 1]], 2, edge_attr=torch.tensor([[0.5]]), x=torch.tensor([[2.0], [3.0]]))
    assert dense_graphs([one])[0].tolist() == [[2.0, 0.5], [0.0, 3.0]]


def test_a_dataset_of_graphs_is_read():
    listed = [graph([[0, 1], [1, k % 2]], 3, y=torch.tensor([k % 2])) for k in range(4)]
    samples, _ = as_samples(listed)
    assert samples.x.shape == (4, 3, 3)
    assert samples.labels.tolist() == [0, 1, 0, 1]


def test_a_row_of_numbers_for_each_graph_is_read():
    listed = [graph([[0, 1]], 3, y=torch.tensor([[0.5, k / 4, -1.0]])) for k in range(4)]
    samples, _ = as_samples(listed, "regression")
    assert samples.targets[:, 1].tolist() == [k / 4 for k in range(4)]
    assert samples.target_shape == (3,)


def test_a_bad_graph_of_a_dataset_is_named_by_its_number():
    listed = [graph([[0, 9 if k == 3 else 1]], 3, y=float(k)) for k in range(5)]
    with pytest.raises(InputError, match="graph 3: expected nodes 0 to 2"):
        as_samples(listed)


def test_torch_geometric_s_own():
    geometric = pytest.importorskip("torch_geometric.data")
    listed = [geometric.Data(edge_index=torch.tensor([[0], [k]]), num_nodes=3, y=k) for k in (1, 2)]
    batch = geometric.Batch.from_data_list(listed)
    assert torch.equal(dense_graphs(batch), dense_graphs(listed))
    assert as_samples(listed)[0].labels.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("graphs", "nodes", "message"),
    [
        (
            [graph([[0, 1]], 2), graph([[0, 1]], 3)],
            None,
            r"graph 1: expected 2 nodes as in graph 0, got 3; pad",
        ),
        ([graph([[0, 1]], 4)], 3, "graph 0: expected 3 nodes, got 4"),
        (
            [graph([[0, 1]], 3), graph([[0, 5]], 3)],
            None,
            "graph 1: expected nodes 0 to 2 in its edges, got 5",
        ),
        ([graph([[-1, 1]], 3)], None, "expected nodes 0 to 2 in its edges, got -1"),
        ([graph([[0, 1.5]], 3)], None, "whole numbers"),
        ([SimpleNamespace(edge_index=torch.zeros(2, 0).long())], None, "graph 0: expected one node or more"),
        ([graph([[0, 1]], 3)], -3, "nodes: expected"),
        ([graph([[0, 1]], 2, x=torch.ones(2, 4))], None, "nodes: expected one number each"),
        ([graph([[0, 1]], 2, edge_attr=torch.ones(1, 2))], None, "edges: expected one number each"),
        ([], None, "one graph or more"),
        ([3], None, "expected an edge_index"),
    ],
)
def test_bad_graphs(graphs, nodes, message):
    with pytest.raises(InputError, match=message):
        dense_graphs(graphs, nodes)
