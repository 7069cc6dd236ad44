"""The problems of the group experiment: a group, what it acts on, and a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import Action, LabelledData, dihedral_action, mnist_sample, orbits
from symscope.data.images import shift_both
from symscope.data.nodes import node_permutation
from symscope.errors import InputError
from symscope.groups import FiniteGroup, symmetric
from symscope.kernels import Kernel, infinite_width
from symscope.numerics import seeded
from symscope_papers.block_graphs import block_graphs
from symscope_papers.spectral.wide_networks import conv_kernels

NETWORKS = {
    "mlp": "fully connected",
    "conv": "convolution, dense read-out",
    "pool": "convolution, pooled",
    "set": "shared layer, pooled",
}
ACTIONS = {
    "d4": "turns and mirrors",
    "d8": "finer turns",
    "shift": "shifts",
    "graph": "graphs",
    "set": "sets",
}
CASES = (
    "d4-mlp",
    "d4-conv",
    "d4-pool",
    "d8-mlp",
    "shift-mlp",
    "shift-conv",
    "shift-pool",
    "graph-mlp",
    "set-mlp",
    "set-set",
)
INVARIANT = ("shift-pool", "set-set")  # networks that are invariant under the group by construction


@final
@dataclass(frozen=True, eq=False)
class OrbitProblem:
    """Two classes of orbits and a kernel that is invariant under the group.

    Attributes:
        action: The group and what it does.
        kernel: Kernel of samples, `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`.
        samples: One sample of each orbit.
        labels: Label of each sample, +1 or -1.
        stabilisers: Elements that keep each sample.
    """

    action: Action
    kernel: Callable[[Tensor, Tensor], Tensor]
    samples: Float[Tensor, "m *sample"]
    labels: Float[Tensor, "m"]
    stabilisers: tuple[Tensor, ...]


@final
@dataclass(frozen=True)
class ProblemSizes:
    """How large the problems are: samples per class, pixels, steps of shifts, nodes, points of a set."""

    samples: int
    side: int
    shifts: tuple[int, int]
    nodes: int
    points: int


def orbit_problem(case: str, sizes: ProblemSizes, seed: int, device: str) -> OrbitProblem:
    """The problem of a case, the same for the same seed.

    Args:
        case: One of `CASES`.
        sizes: Sizes of the problem.
        seed: Seed for drawing samples.
        device: Device of the samples.

    Raises:
        InputError: An unknown case, or sizes that do not fit.

    >>> result = orbit_problem("set-mlp", ProblemSizes(2, 14, (2, 2), 4, 3), seed=0, device="cpu")
    >>> result.action.group.name, tuple(result.samples.shape), result.labels.tolist()
    ('S3', (4, 3, 2), [1.0, 1.0, -1.0, -1.0])
    """
    if case not in CASES:
        raise InputError(f"cases: expected some of {', '.join(CASES)}; got {case!r}")
    where, network = case.split("-")
    if where == "graph":
        action, samples = (
            node_permutation(_permutations(sizes.nodes)),
            different_graphs(sizes.samples, sizes.nodes, seed),
        )
    elif where == "set":
        action = node_permutation(_permutations(sizes.points), "features")
        samples = rings_and_rows(sizes.samples, sizes.points, seed)
    else:
        samples = threes_and_fives(sizes.samples, sizes.side, seed)
        turns = {"d4": 4, "d8": 8}
        action = dihedral_action(turns[where], "orthogonal") if where in turns else shift_both(*sizes.shifts)
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(sizes.samples)
    kept = orbits(samples, action).stabilisers
    there = samples.to(device)
    return OrbitProblem(action, kernel_of(network, there), there, labels.to(device), kept)


def kernel_of(network: str, samples: Float[Tensor, "m a b"]) -> Callable[[Tensor, Tensor], Tensor]:
    """The NTK of a network of one hidden ReLU layer as a kernel of samples; of convolutions the NNGP.

    The NTK of a convolution holds the angles between windows, and those of the many equal windows of a
    digit's background are known to 2e-8 only: too coarse to compare residuals to 1e-8.
    """
    rows, columns = samples.shape[1:]
    if network == "mlp":
        flat = nn.Sequential(nn.Linear(rows * columns, 2), nn.ReLU(), nn.Linear(2, 1))
        return partial(_on_vectors, infinite_width(flat, w_std=1.0, b_std=1.0).ntk)
    if network == "set":
        shared = nn.Conv1d(columns, 2, 1)
        net = nn.Sequential(shared, nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2, 1))
        return partial(_on_sets, infinite_width(net, w_std=1.0, b_std=1.0).ntk)
    readout = {"conv": "fc", "pool": "gap"}[network]
    return partial(_on_images, conv_kernels(readout, 3, rows).nngp)


# one tensor given twice is passed on as one: the diagonal is then the kernel's own, without rounding
def _on_vectors(kernel: Kernel, x1: Tensor, x2: Tensor) -> Tensor:
    return kernel(x1.flatten(1), None if x2 is x1 else x2.flatten(1))


def _on_images(kernel: Kernel, x1: Tensor, x2: Tensor) -> Tensor:
    return kernel(x1[:, None], None if x2 is x1 else x2[:, None])


def _on_sets(kernel: Kernel, x1: Tensor, x2: Tensor) -> Tensor:
    return kernel(x1.mT.contiguous(), None if x2 is x1 else x2.mT.contiguous())


def threes_and_fives(count: int, side: int, seed: int) -> Float[Tensor, "m side side"]:
    """Threes, then fives, centred and of unit norm; at 14 x 14 averaged over 2 x 2 pixels."""
    if side not in (14, 28):
        raise InputError(f"side: expected 14 or 28 pixels, got {side}")
    chosen = mnist_sample().per_class(count, seed=seed, classes=(3, 5)).x
    small = nn.functional.avg_pool2d(chosen, 28 // side)
    centred = small - small.mean((1, 2), keepdim=True)
    return centred / centred.flatten(1).norm(dim=1)[:, None, None]


def different_graphs(count: int, size: int, seed: int) -> Float[Tensor, "m n n"]:
    """Connected graphs, then others, no two the same up to names of nodes, none kept by all of S_n."""
    action = node_permutation(_permutations(size))
    result: dict[bool, dict[bytes, Tensor]] = {True: {}, False: {}}
    for batch in _graph_batches(size, seed):
        for graph, connected in zip(batch.x, batch.labels.tolist(), strict=True):
            same = action.act_all(graph).flatten(1).to(torch.uint8).unique(dim=0)
            wanted = result[bool(connected)]
            if len(same) > 1 and len(wanted) < count:
                wanted.setdefault(same[0].numpy().tobytes(), graph)  # sorted: one name for all of the orbit
        if all(len(wanted) == count for wanted in result.values()):
            break
    else:
        raise InputError(f"there are not {count} different graphs of each class on {size} nodes")
    return torch.stack([*result[True].values(), *result[False].values()])


def _permutations(n: int) -> FiniteGroup:
    group = symmetric(n)
    assert isinstance(group, FiniteGroup)  # with all its elements listed, as it is up to 6
    return group


def _graph_batches(size: int, seed: int) -> Iterator[LabelledData]:
    for number in range(20):
        yield block_graphs(50, size, 0.6, 0.3, seed=1000 * seed + number)


def rings_and_rows(count: int, points: int, seed: int) -> Float[Tensor, "m points 2"]:
    """Sets of points in the plane near a circle, then sets near a line, in random order, turned at random."""
    if points < 2:
        raise InputError(f"points: expected sets of 2 points or more, got {points}")
    draw = partial(torch.randn, generator=seeded(seed, 2), dtype=torch.float64)
    angles = 2 * torch.pi * torch.rand(count, points, generator=seeded(seed, 3), dtype=torch.float64)
    rings = torch.stack([angles.cos(), angles.sin()], -1) + 0.1 * draw(count, points, 2)
    turn = draw(count, 1, 2)
    rows = draw(count, points, 1) * turn / turn.norm(dim=-1, keepdim=True) + 0.1 * draw(count, points, 2)
    return torch.cat([rings, rows])


def case_title(case: str) -> str:
    """What a case is, in words.

    >>> case_title("d4-mlp")
    'turns and mirrors, fully connected'
    """
    where, network = case.split("-")
    return f"{ACTIONS[where]}, {NETWORKS[network]}"
