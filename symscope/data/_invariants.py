"""Numbers that tell samples apart whatever a group does to them: distances, sorted values, spectra."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float64, Shaped
from torch import Tensor

from symscope.data._action import Action
from symscope.data._sample_kinds import point_coordinates, sample_kind
from symscope.numerics import checked

MOST_POINTS = 64  # of a cloud or set whose pairs are compared


@checked
def with_invariants(
    x: Shaped[Tensor, "m *s"], action: Action, coordinates: bool = True, ordered: bool = True
) -> Float64[Tensor, "m d"]:
    """Samples as rows of numbers, and for clouds, sets and graphs what their group does not change.

    Clouds: sorted distances of points, and signed volumes of neighbours in the list, which rotations keep and
    mirrors turn around. Sets: sorted columns. Graphs: sorted degrees and eigenvalues. Each part has the same
    mean square, so that a classifier of the rows sees them alike.

    Args:
        x: Samples.
        action: Action that moves them, by which their kind is known.
        coordinates: Whether the samples themselves are part of the rows of clouds.
        ordered: Whether the order of points in a cloud counts; without it coordinates are those along the
            axes and diagonals, each sorted, and there are no volumes.

    >>> from symscope.data.point_clouds import point_rotation
    >>> from symscope.groups import parse
    >>> x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    >>> turns = point_rotation(parse("I"))
    >>> before, after = (with_invariants(one, turns) for one in (x, turns.act(7, x)))
    >>> before.shape, bool(torch.allclose(before[:, 15:], after[:, 15:], atol=1e-5))
    (torch.Size([2, 30]), True)
    """
    flat = x.flatten(1).double()
    shape = tuple(x.shape[1:])
    kind, size = sample_kind(action, shape), point_coordinates(action, shape)
    makers: dict[str, Callable[[Tensor], list[Tensor]]] = {"set": _of_sets, "graph": _of_graphs}
    if kind == "points" and size is not None:
        places = x.double()[..., :size].reshape(len(x), -1, size)
        parts = _of_clouds(places) if ordered else _of_clouds(places)[:1]
        flat = flat if ordered else _shadows(places)
    elif kind in makers:
        parts = makers[kind](x.double())
    else:
        return flat
    kept = [flat, *parts] if coordinates or kind != "points" else parts
    return torch.cat([_scaled(part.flatten(1)) for part in kept], dim=1)


def _of_clouds(places: Float64[Tensor, "m p d"]) -> list[Tensor]:
    chosen = places[:, :MOST_POINTS]
    apart = torch.cdist(chosen, chosen)
    upper = torch.ones(apart.shape[1:]).triu(1).bool()
    centred = chosen - places.mean(1, keepdim=True)
    size = places.shape[-1]
    neighbours = torch.stack([centred.roll(-k, 1) for k in range(size)], dim=-1)
    return [apart[:, upper].sort(1).values, torch.linalg.det(neighbours)]


def _shadows(places: Float64[Tensor, "m p d"]) -> Float64[Tensor, "m k p"]:
    """The points of each cloud along the axes and diagonals of space, sorted along each."""
    steps = torch.cartesian_prod(*[torch.tensor([0.0, 1.0, -1.0]).double()] * places.shape[-1])
    lines = steps.reshape(-1, places.shape[-1])[1:]
    ahead = [line for line in lines if line[line != 0][0] > 0]  # a line and its opposite show the same
    unit = torch.stack([line / line.norm() for line in ahead])
    return (places[:, :MOST_POINTS] @ unit.T).mT.sort(-1).values


def _of_sets(x: Float64[Tensor, "m *s"]) -> list[Tensor]:
    return [x.sort(-2).values]


def _of_graphs(x: Float64[Tensor, "m *s"]) -> list[Tensor]:
    even = (x + x.mT) / 2
    return [x.sum(-1).sort(-1).values, torch.linalg.eigvalsh(even)]


def _scaled(part: Float64[Tensor, "m d"]) -> Float64[Tensor, "m d"]:
    """A part whose rows have a mean square of 1 on average, over all samples."""
    return part / part.square().sum(1).mean().sqrt().clamp_min(1e-300)
