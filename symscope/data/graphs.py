"""Graphs as adjacency matrices: from edges, from torch_geometric's graphs and batches, padded to one size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_count, check_memory, checked

__all__ = ["dense_graphs", "is_graph"]


def is_graph(value: Any) -> bool:
    """Whether a value holds a graph by its edges, as torch_geometric's `Data` does."""
    return isinstance(getattr(value, "edge_index", None), Tensor)


@checked
def dense_graphs(graphs: Any, nodes: int | None = None) -> Float64[Tensor, "n k k"]:
    """The adjacency matrices of graphs that are given by their edges.

    A graph has `edge_index` `[2, edges]`, and may have `num_nodes`, `edge_weight` or one number in
    `edge_attr` for each edge, which becomes the entry (else 1), and one number in `x` for each node, which
    becomes the entry on the diagonal. A `torch_geometric` batch, dataset or list of graphs has these; it need
    not be installed.

    Args:
        graphs: A batch, or graphs.
        nodes: Nodes of every matrix: smaller graphs get nodes without edges; by default all have as many.

    Raises:
        InputError: No graphs, something else, graphs of different or too large size, or several numbers for a
            node or an edge.

    >>> from types import SimpleNamespace
    >>> path = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    >>> dense_graphs([path]).tolist()
    [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]
    """
    if nodes is not None:
        nodes = check_count("nodes", nodes)
    listed = graphs.to_data_list() if hasattr(graphs, "to_data_list") else graphs
    if is_graph(listed) or not isinstance(listed, Iterable):
        listed = [listed]
    matrices: list[Tensor] = []
    for index, graph in enumerate(listed):
        count = _node_count(graph, index)
        size = nodes if nodes is not None else matrices[0].shape[0] if matrices else count
        if count > size or (nodes is None and count != size):
            raise InputError(
                f"graph {index}: expected {size} nodes{'' if nodes else ' as in graph 0'}, got {count}; pad "
                "all graphs to the largest, symscope.data.graphs.dense_graphs(graphs, nodes=...)."
            )
        matrices.append(adjacency_matrix(graph, index, size))
    if not matrices:
        raise InputError("expected one graph or more, got none.")
    return torch.stack(matrices)


def _node_count(graph: Any, index: int) -> int:
    if not is_graph(graph):
        raise InputError(
            f"graph {index}: expected an edge_index [2, edges], as torch_geometric's Data has, got "
            f"{type(graph).__name__}."
        )
    known = getattr(graph, "num_nodes", None)
    if known is not None:
        return int(known)
    return int(graph.edge_index.max()) + 1 if graph.edge_index.numel() else 0


def adjacency_matrix(graph: Any, index: int, nodes: int | None = None) -> Float64[Tensor, "k k"]:
    """The adjacency matrix of one graph, as `dense_graphs` makes it.

    Args:
        graph: The graph.
        index: Number of the graph in messages.
        nodes: Nodes of the matrix, as many as the graph has or more; those of the graph when not given.

    Raises:
        InputError: No graph, no nodes, edges of other nodes, or several numbers for a node or an edge.
    """
    count = _node_count(graph, index)
    edges, size = graph.edge_index, count if nodes is None else nodes
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        raise InputError(
            f"graph {index}: expected edge_index [2, edges] of whole numbers, got {tuple(edges.shape)} of "
            f"{edges.dtype}."
        )
    if count < 1:
        raise InputError(f"graph {index}: expected one node or more, got {count}; leave it out.")
    ends = (int(edges.min()), int(edges.max())) if edges.numel() else (0, 0)
    if ends[0] < 0 or ends[1] >= count:
        raise InputError(
            f"graph {index}: expected nodes 0 to {count - 1} in its edges, got {ends[ends[0] >= 0]}."
        )
    check_memory(f"the adjacency matrix of graph {index}", 8 * size**2, "take smaller graphs")
    matrix = torch.zeros(size, size, dtype=torch.float64)
    weights = getattr(graph, "edge_weight", None)
    weights = getattr(graph, "edge_attr", None) if weights is None else weights
    values = _one_each(weights, edges.shape[1], f"graph {index}: edges")
    matrix.index_put_((edges[0].cpu(), edges[1].cpu()), values, accumulate=True)
    features = getattr(graph, "x", None)
    if features is not None:
        matrix.diagonal()[:count] += _one_each(features, count, f"graph {index}: nodes")
    return matrix


def _one_each(values: Tensor | None, count: int, what: str) -> Float64[Tensor, "count"]:
    if values is None:
        return torch.ones(count, dtype=torch.float64)
    if values.numel() != count:
        raise InputError(
            f"{what}: expected one number each or none, got {tuple(values.shape)} for {count}; an adjacency "
            "matrix holds one: use (X, y) with an action and a network of your own."
        )
    return values.detach().reshape(-1).to("cpu", torch.float64)
