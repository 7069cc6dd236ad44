"""What the pixel grid does: interpolation alone, and transformations that are small.

An element is exact where it moves pixels on pixels (`g^-1 (g x) = x`). For the others the round trip `g^-1
(g x)` is an image that stands as x does and was interpolated twice: what it changes in the outputs,
interpolation and cut corners do, and no property of the network under rotation. The part of an element's
error up to that is the grid's. Beside it stands the error on smoothed samples, which interpolation hardly
touches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64, Shaped
from torch import Tensor

from symscope.auditing._error_table import ErrorTable, error_table
from symscope.auditing._subject import Subject
from symscope.data import Action, custom_action, is_builtin_action, plane_vectors
from symscope.errors import InputError
from symscope.groups import cyclic

BLUR = 1.5  # pixels, standard deviation of the Gaussian by which samples are smoothed
FINE = 720  # steps in a full turn, 0.5 degrees each, for derivatives
FRACTION = 0.1  # pixels, for derivatives along shifts


@final
@dataclass(frozen=True, eq=False)
class GridPart:
    """What interpolation does to the error.

    Attributes:
        rough: Elements that interpolate.
        trips: Change of outputs by the round trip `g^-1 (g x)`, for those elements.
        smooth_exact: Error on smoothed samples over exact elements; NaN if there are none.
        smooth_rough: Error on smoothed samples over the others; NaN if they cannot be smoothed.
    """

    rough: tuple[int, ...]
    trips: ErrorTable | None
    smooth_exact: float
    smooth_rough: float

    def square(
        self, table: ErrorTable, weights: Float64[Tensor, "r m"] | None = None
    ) -> Float64[Tensor, "*r"]:
        """The grid's part of the squared error.

        Of each rough element what its error exceeds that of exact ones by, at most what its round trip
        changes.
        """
        if self.trips is None:
            return torch.zeros(() if weights is None else len(weights), dtype=torch.float64)
        still = [g for g in table.elements if g not in self.rough]
        base = table.square(still, weights) if still else torch.zeros(()).double()
        parts = []
        for g in self.rough:
            trip = self.trips.square([g])  # of fewer samples, and resampled with the others' error
            own = table.square([g], weights)
            trip = trip * own / table.square([g]).clamp_min(1e-300)
            parts.append(torch.minimum((own - base).clamp_min(0), trip))
        return torch.stack(parts).sum(0) / len(table.elements)


def grid_part(
    subject: Subject, x: Shaped[Tensor, "m *s"], exact: tuple[int, ...], elements: tuple[int, ...]
) -> GridPart:
    """The round trips of the elements that interpolate, and the error on smoothed samples.

    Args:
        subject: Network and actions.
        x: Samples.
        exact: Elements that move samples exactly.
        elements: Elements whose error is explained.
    """
    rough = tuple(g for g in elements if g not in exact)
    if not rough:
        return GridPart((), None, math.nan, math.nan)
    group = subject.action.group

    def trip(g: int, samples: Tensor) -> Tensor:
        return subject.moved(group.inverse(g), subject.moved(g, samples))

    trips = error_table(subject, x, rough, moved=trip)
    smooth = smoothed(x) if subject.action.sample_ndim == 2 else None
    if smooth is None:
        return GridPart(rough, trips, math.nan, math.nan)
    still = [g for g in elements if g in exact]
    try:
        table = error_table(subject, smooth, (*still, *rough))
    except InputError:  # smoothing left nothing that varies
        return GridPart(rough, trips, math.nan, math.nan)
    return GridPart(rough, trips, table.error(still) if still else math.nan, table.error(rough))


def smoothed(x: Shaped[Tensor, "m *s"]) -> Shaped[Tensor, "m *s"]:
    """Samples convolved with a Gaussian along their last two axes: nearly band-limited.

    Square ones fade out towards the inscribed circle, so that turning cuts nothing off.

    >>> spot = torch.zeros(1, 9, 9)
    >>> spot[0, 4, 4] = 1
    >>> bool(smoothed(spot).max() < 0.1), bool(smoothed(spot)[0, 0, 0].abs() < 1e-6)
    (True, True)
    """
    height, width = x.shape[-2:]
    rows, columns = torch.fft.fftfreq(height, device=x.device), torch.fft.rfftfreq(width, device=x.device)
    response = torch.exp(-2 * (math.pi * BLUR) ** 2 * (rows[:, None] ** 2 + columns**2))
    blurred = torch.fft.irfft2(torch.fft.rfft2(x) * response, s=(height, width)).to(x.dtype)
    if height != width:
        return blurred
    away = (torch.arange(height, device=x.device) - (height - 1) / 2) / (height / 2)
    radius = (away[:, None] ** 2 + away**2).sqrt().clamp_max(1.0)
    return blurred * torch.cos(radius * math.pi / 2).to(x.dtype)


@final
@dataclass(frozen=True)
class LocalError:
    """The derivative of the error at the identity.

    Attributes:
        per_step: `|d/dt rho(t)^-1 f(t x)|` over what varies, times the group's first step: the error of
            that step if it grew as it begins.
        first_step: The error of the first step as measured.
        step: The first step in words, such as "45°".
        method: How the derivative was taken, and what it is exact for.
    """

    per_step: float
    first_step: float
    step: str
    method: str


def local_error(subject: Subject, x: Shaped[Tensor, "m *s"], table: ErrorTable) -> LocalError | None:
    """The Lie derivative at the identity, for rotations and shifts with a name; None for other actions.

    Central differences, `(rho(-t) f(t x) - rho(t) f(-t x)) / 2t`: exact for outputs that are quadratic in t.
    Rotations by 0.5 degrees are three shears (Unser, Thevenaz and Yaroslavsky 1995), shifts by a tenth of a
    pixel one; both move rows by Fourier series, exact for images that are periodic and below the highest
    frequency.

    Args:
        subject: Network and actions.
        x: Samples.
        table: Errors by element, of which the first step is taken.
    """
    fine = _fine_action(subject, x)
    if fine is None:
        return None
    small, share, method = fine
    step = next((g for g in subject.others if g == 1), None)
    if step is None or step not in table.elements:
        return None
    plain = subject.outputs(x)
    ahead, behind = (
        small.moved_back(g, subject.outputs(small.moved(g, x))) for g in (1, small.action.group.order - 1)
    )
    spread = (plain - plain.mean(0)).flatten(1).square().sum(1).mean()
    slope = ((ahead - behind) / 2).flatten(1).square().sum(1).mean()
    per_step = math.sqrt(float(slope / spread)) / share
    return LocalError(per_step, table.error([step]), subject.element_name(step), method)


def _fine_action(subject: Subject, x: Tensor) -> tuple[Subject, float, str] | None:
    """The subject under a finer action, the share of the group's first step that is its step, and how."""
    action, name = subject.action, subject.action.name.partition(":")[0]
    factors = action.group.cyclic_factors
    mirrors = name == "dihedral" or (name == "rotation" and factors is None)  # turns come first in D<n>
    turns = action.group.order // 2 if mirrors else action.group.order
    if not is_builtin_action(action) or not (mirrors or (factors and len(factors) == 1)) or turns < 3:
        return None
    if name in ("rotation", "dihedral"):
        fine = custom_action(cyclic(FINE), _SmallTurn(FINE), 2, "rotation")
        share, method = turns / FINE, "0.5°, three shears by Fourier series"
    elif name in ("shift-x", "shift-y"):
        size = x.shape[-1 if name == "shift-x" else -2]
        steps = round(size / FRACTION)
        fine = custom_action(cyclic(steps), _Fraction(steps, name == "shift-y"), 2, name)
        share, method = action.group.order / steps, "a tenth of a pixel, by Fourier series"
    else:
        return None
    target: Action | None = None
    if subject.target is not None:
        if subject.target.name == "vector" and name in ("rotation", "dihedral"):
            target = plane_vectors(fine, (2,))
        elif subject.target is action:
            target = fine
        else:
            return None
    return replace(subject, action=fine, target=target), share, method


@final
@dataclass(frozen=True)
class _Fraction:
    """Shifts by fractions of a pixel: each frequency turned by its angle."""

    steps: int
    down: bool

    def __call__(self, g: int, x: Tensor) -> Tensor:
        rows = x.transpose(-1, -2) if self.down else x
        by = torch.full((rows.shape[-2],), rows.shape[-1] * g / self.steps, dtype=torch.float64)
        moved = _shifted_rows(rows, by)
        return moved.transpose(-1, -2) if self.down else moved


@final
@dataclass(frozen=True)
class _SmallTurn:
    """Counterclockwise turns by less than 90 degrees: a shear of rows, one of columns, and the first "
    "again."""

    steps: int

    def __call__(self, g: int, x: Tensor) -> Tensor:
        angle = 2 * math.pi * (g if 2 * g <= self.steps else g - self.steps) / self.steps
        low = torch.arange(x.shape[-2]).double() - (x.shape[-2] - 1) / 2  # downwards
        right = torch.arange(x.shape[-1]).double() - (x.shape[-1] - 1) / 2
        x = _shifted_rows(x, math.tan(angle / 2) * low)
        x = _shifted_rows(x.transpose(-1, -2), -math.sin(angle) * right).transpose(-1, -2)
        return _shifted_rows(x, math.tan(angle / 2) * low)


def _shifted_rows(x: Tensor, by: Float64[Tensor, "rows"]) -> Tensor:
    """Each row moved to the right by its own number of pixels, each of its frequencies turned by its "
    "angle."""
    size = x.shape[-1]
    phase = torch.exp(-2j * math.pi * torch.fft.rfftfreq(size).double() * by[:, None])
    return torch.fft.irfft(torch.fft.rfft(x) * phase.to(x.device), n=size).to(x.dtype)
