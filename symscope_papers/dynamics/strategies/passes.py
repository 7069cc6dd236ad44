"""Passes over mini-batches: which one is seen under which group element, and how much it counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.dynamics import TrainingProblem
from symscope.errors import InputError
from symscope.groups import FiniteGroup, PermutationGroup, Representation


@final
@dataclass(frozen=True, eq=False)
class Passes:
    """Mini-batches to be seen in one epoch: pass p shows `(g_p x, g_p y)` of mini-batch `batch[p]`.

    Attributes:
        batch: Which mini-batch.
        source: Coordinate of x that each coordinate of `g x` is, for each run or for all; None: x itself.
        target: Coordinate of y that each coordinate of `g y` is, likewise.
        shares: What each counts in each run's risk; they sum to 1 over passes.
    """

    batch: Int64[Tensor, "p"]
    source: Int64[Tensor, "r p d"] | None
    target: Int64[Tensor, "r p e"] | None
    shares: Tensor

    def __len__(self) -> int:
        return len(self.batch)

    def part(self, start: int, stop: int) -> Passes:
        """Some of the passes, with their shares as they are."""
        return Passes(
            self.batch[start:stop],
            None if self.source is None else self.source[:, start:stop],
            None if self.target is None else self.target[:, start:stop],
            self.shares[:, start:stop],
        )

    def data(self, problem: TrainingProblem) -> tuple[Tensor, Tensor]:
        """x and y as seen, `[r, p, n, d]`, r = 1 where all runs see the same."""
        return _seen(problem.x[self.batch], self.source), _seen(problem.y[self.batch], self.target)


def plain_passes(problem: TrainingProblem) -> Passes:
    """Every mini-batch once, as it is: what NOMINAL and EQUIVARIANT see."""
    count = problem.x.shape[0]
    shares = torch.full((1, count), 1 / count, dtype=problem.x.dtype, device=problem.x.device)
    return Passes(torch.arange(count, device=problem.x.device), None, None, shares)


def drawn_passes(
    problem: TrainingProblem,
    passes: int,
    generators: Sequence[torch.Generator],
    weights: Sequence[float] | None = None,
) -> Passes:
    """Every mini-batch some times, each time under an element of its own: what AUGMENTED sees.

    The same mini-batch under the same element is seen once and counts so many times: for C4 the paper's 25
    passes are at most four.

    Args:
        problem: Its x and y have one axis of mini-batches, `[batches, n, d]`.
        passes: Times each mini-batch is drawn.
        generators: One for each run, on the CPU.
        weights: Probability of each element of a listed group; by default all alike.

    Raises:
        InputError: Fewer than one pass, spaces that are not permuted, or weights for a group not listed.

    >>> from symscope.dynamics import declare_network

    >>> from symscope.networks.losses import half_squared_loss
    >>> from symscope.groups import cyclic, permutation, trivial
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.randn(3, 5, 2), torch.randn(3, 5, 1))
    >>> seen = drawn_passes(problem, 25, [torch.Generator().manual_seed(0)])
    >>> len(seen), round(float(seen.shares.sum()), 6)
    (6, 1.0)
    """
    if passes < 1 or problem.x.ndim != 3:
        raise InputError(
            f"expected at least one pass over x [batches, n, d], got {passes} and x {tuple(problem.x.shape)}."
        )
    group = problem.network.group
    for rep in (problem.network.sources[0], problem.network.output):
        if rep.permutation is None:
            raise InputError(
                f"expected spaces whose coordinates are permuted, got {rep!r}: use gradient_field and "
                "gradient_descent, which take any representation."
            )
    if isinstance(group, FiniteGroup):
        return _counted(problem, group, passes, generators, weights)
    if weights is not None:
        raise InputError(f"expected no weights: the elements of {group.name} are not listed.")
    batches, device = problem.x.shape[0], problem.x.device
    drawn = torch.stack([elements_drawn(group, batches * passes, generator) for generator in generators])
    shares = torch.full((len(generators), batches * passes), 1 / (batches * passes), dtype=torch.float64)
    return Passes(
        torch.arange(batches).repeat_interleave(passes).to(device),
        _moves(problem.network.sources[0], drawn, device),
        _moves(problem.network.output, drawn, device),
        shares.to(problem.x),
    )


def elements_drawn(group: Any, count: int, generator: torch.Generator) -> Int64[Tensor, "count degree"]:
    """Permutations drawn uniformly; for whole symmetric groups by sorting random keys, all at once."""
    if isinstance(group, PermutationGroup) and group.order == math.factorial(group.degree):
        keys = torch.rand(count, group.degree, generator=generator, dtype=torch.float64)
        return keys.argsort(-1)
    return torch.stack([torch.as_tensor(g) for g in group.sample(count, generator)])


def _counted(
    problem: TrainingProblem,
    group: FiniteGroup,
    passes: int,
    generators: Sequence[torch.Generator],
    weights: Sequence[float] | None,
) -> Passes:
    """Draws from a listed group, equal ones together."""
    if weights is not None and (len(weights) != group.order or min(weights) < 0 or sum(weights) <= 0):
        raise InputError(
            f"expected {group.order} weights of 0 or more, one per element of {group.name}, got {weights}."
        )
    chances = torch.ones(group.order) if weights is None else torch.tensor(list(weights))
    batches, device = problem.x.shape[0], problem.x.device
    every = chances.expand(batches, -1)
    drawn = torch.stack(
        [torch.multinomial(every, passes, replacement=True, generator=generator) for generator in generators]
    )
    counts = torch.zeros(len(generators), batches, group.order, dtype=torch.int64)
    counts.scatter_add_(2, drawn, torch.ones_like(drawn))
    batch, element = counts.sum(0).nonzero(as_tuple=True)
    shares = counts[:, batch, element].to(problem.x) / (passes * batches)
    return Passes(
        batch.to(device),
        _moves(problem.network.sources[0], element[None], device),
        _moves(problem.network.output, element[None], device),
        shares,
    )


def _moves(rep: Representation, elements: Tensor, device: torch.device) -> Tensor | None:
    """Indices that bring x to g x along its last axis, `[runs, passes, d]`; nothing where nothing moves."""
    assert rep.permutation is not None
    if isinstance(rep.group, FiniteGroup):
        moves = _table(rep)[elements]
    else:
        flat = elements.flatten(0, 1)
        moves = torch.argsort(torch.vmap(rep.permutation)(flat), -1).unflatten(0, elements.shape[:2])
    if torch.equal(moves, torch.arange(rep.dim).expand_as(moves)):
        return None
    return moves.to(device)


@lru_cache(maxsize=16)  # a representation is its own key: it never changes
def _table(rep: Representation) -> Tensor:
    """The moves of every element of a listed group, `[order, d]`."""
    assert rep.permutation is not None
    assert isinstance(rep.group, FiniteGroup)
    return torch.stack([torch.argsort(rep.permutation(g)) for g in rep.group.elements])


def _seen(data: Tensor, moves: Tensor | None) -> Tensor:
    if moves is None:
        return data[None]
    runs, samples = moves.shape[0], data.shape[1]
    wide = data[None].expand(runs, *data.shape)
    return wide.gather(-1, moves[:, :, None].expand(-1, -1, samples, -1))
