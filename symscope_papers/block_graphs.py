"""Random graphs of two clusters, with the question whether they are connected."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from symscope.data import LabelledData
from symscope.errors import InputError
from symscope.numerics import check_count, seeded


def block_graphs(
    count: int,
    nodes: int = 10,
    p_in: float = 0.5,
    p_out: float = 0.05,
    *,
    seed: int,
    dtype: torch.dtype = torch.float64,
) -> LabelledData:
    """Graphs of a two-block Erdos-Renyi model as adjacency matrices; class 1 if connected, else 0.

    Every node joins one of two clusters by a fair coin (a cluster may stay empty); every pair of nodes gets
    an edge with probability `p_in` inside a cluster and `p_out` across. Experiment 1 of "Optimization
    Dynamics of Equivariant and Augmented Neural Networks" (C.1); which draw of clusters the authors took is
    not said there.

    Args:
        count: Number of graphs.
        nodes: Nodes per graph.
        p_in: Edge probability inside a cluster.
        p_out: Edge probability across.
        seed: Random seed, a non-negative integer.
        dtype: Floating-point type.

    Returns:
        Adjacency matrices [count, nodes, nodes], symmetric, zeros and ones, zero diagonal.

    Raises:
        InputError: A count below 1 or a probability outside [0, 1].

    >>> graphs = block_graphs(50, seed=0)
    >>> graphs.x.shape, graphs.classes
    (torch.Size([50, 10, 10]), (0, 1))
    """
    count, nodes = check_count("count", count), check_count("nodes", nodes)
    for name, p in (("p_in", p_in), ("p_out", p_out)):
        if not 0 <= p <= 1:
            raise InputError(f"{name}: expected a probability in [0, 1], got {p}.")
    generator = seeded(seed)
    cluster = torch.rand(count, nodes, generator=generator, dtype=torch.float64) < 0.5
    together = cluster[:, :, None] == cluster[:, None, :]
    threshold = torch.where(together, p_in, p_out)
    drawn = torch.rand(count, nodes, nodes, generator=generator, dtype=torch.float64) < threshold
    upper = drawn.triu(diagonal=1)
    adjacency = (upper | upper.mT).to(dtype)
    return LabelledData(
        adjacency,
        is_connected(adjacency).long(),
        "block graphs",
        f"block_graphs(count={count}, nodes={nodes}, p_in={p_in}, p_out={p_out}, seed={seed})",
    )


def is_connected(adjacency: Float[Tensor, "*batch n n"]) -> Bool[Tensor, "*batch"]:
    """Whether each graph is connected, exactly: every node reaches every other.

    The reachability matrix `I + A` is squared until paths of any length are in it.

    Args:
        adjacency: Symmetric adjacency matrices; any non-zero entry is an edge.

    Returns:
        One truth value per graph.

    Raises:
        InputError: A matrix is not symmetric or there are no nodes.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> is_connected(path).item(), is_connected(torch.zeros(2, 2)).item()
    (True, False)
    """
    nodes = adjacency.shape[-1]
    if nodes == 0:
        raise InputError("adjacency: expected at least one node, got none.")
    edges = adjacency != 0
    if bool((edges != edges.mT).any()):
        raise InputError("adjacency: expected symmetric matrices, got one with a one-way edge.")
    reach = (edges | torch.eye(nodes, dtype=torch.bool, device=adjacency.device)).to(torch.float32)
    length = 1
    while length < nodes - 1:
        reach = (reach @ reach > 0).to(torch.float32)
        length *= 2
    return (reach > 0).all(-1).all(-1)
