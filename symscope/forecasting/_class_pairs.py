"""Classes two by two: how well they are told apart, and how far apart and how dense their orbits lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._expectation import missing_masks
from symscope.forecasting._question import Draw
from symscope.groups import FiniteGroup
from symscope.spectral import leave_out, orbit_radii, orbit_separations, projected_profile

MOST_PAIRS = 500  # beyond, pairs are not solved one by one


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """What was found for every two classes.

    Attributes:
        error: `[a, b]`: in the problem of these two classes alone, labels +1 and -1, the mean of one minus
            label times prediction at the missing images of a; 0 perfect, above 1 wrong. NaN on the diagonal,
            and everywhere if there are too many pairs or numbers are asked for, where classes are groups.
        separation: `[a, b]`: mean over items of the squared distance of their orbits' centres, over the mean
            squared norm of a point.
        density: For each class, one over the mean radius of its orbits, in units of the points' own norm:
            large where transformations move little.
    """

    error: Float[Tensor, "c c"]
    separation: Float[Tensor, "c c"]
    density: Float[Tensor, "c"]


def class_pairs(gram: Float[Tensor, "p p"], draw: Draw, group: FiniteGroup, ridge: float) -> Pairs:
    """Errors, separations and densities of all classes, two by two.

    Args:
        gram: The kernel over all points, orbit after orbit.
        draw: The items.
        group: What acts.
        ridge: Absolute, added to the diagonal.
    """
    classes = draw.labels.unique()
    count = len(classes)
    members = [(draw.labels == label).nonzero()[:, 0] for label in classes]
    error = torch.full((count, count), float("nan"), dtype=torch.float64)
    if draw.targets is None and count * (count - 1) // 2 <= MOST_PAIRS:
        profile = projected_profile(gram, group).profile
        for a in range(count):
            for b in range(a + 1, count):
                error[a, b], error[b, a] = _pair_error(profile, members[a], members[b], draw, group, ridge)
    points = draw.points.double()
    norm = float(points.flatten(2).square().sum(2).mean()) or 1.0
    apart = orbit_separations(points.flatten(2)) / norm
    separation = torch.stack([torch.stack([apart[a][:, b].mean() for b in members]) for a in members])
    radii = orbit_radii(points.flatten(2)) / norm**0.5
    density = torch.stack([1 / radii[a].mean() for a in members])
    return Pairs(error, separation, density)


def _pair_error(
    profile: Float[Tensor, "m m n"], a: Tensor, b: Tensor, draw: Draw, group: FiniteGroup, ridge: float
) -> tuple[float, float]:
    both = torch.cat([a, b])
    signs = torch.cat([torch.ones(len(a)), -torch.ones(len(b))]).to(profile)
    masks = missing_masks((signs < 0).long(), group, None)
    kept = None if draw.stabilisers is None or ridge else [draw.stabilisers[s] for s in both.tolist()]
    try:
        found = leave_out(profile[both][:, both], signs, masks, group, ridge, stabilisers=kept)
    except InputError:  # two classes alone can be singular where all together are not
        return float("nan"), float("nan")
    errors = 1 - found.label * found.prediction
    return float(errors[found.sets == 0].mean()), float(errors[found.sets == 1].mean())
