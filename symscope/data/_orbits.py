"""Orbits: samples, and everything a group makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor

from symscope.data._action import Action, default_tolerance, fixing_elements
from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.numerics import check_finite, checked


@final
@dataclass(frozen=True, eq=False)
class FlatOrbits:
    """The points of some orbits in one row; row r is element `elements[r]` on sample `samples[r]`.

    Attributes:
        points: `[n, *sample]`.
        labels: The label of each point, or None.
        samples: Which sample each point belongs to.
        elements: Which group element made it.
        missing: Whether it is left out of training.
    """

    points: Shaped[Tensor, "n *sample"]
    labels: Shaped[Tensor, "n"] | None
    samples: Int64[Tensor, "n"]
    elements: Int64[Tensor, "n"]
    missing: Bool[Tensor, "n"]


@final
@dataclass(frozen=True, eq=False)
class Orbits:
    """m samples under a group; made by `orbits`.

    Attributes:
        points: `points[s, g]` is element g on sample s.
        labels: One label per sample, or None.
        group: The group.
        action: Name of the action.
        missing: Which points are left out of training.
        stabilisers: For each sample, the elements that keep it within `tolerance`; only the identity if free.
        closed: For each sample, whether those elements are a subgroup. An action that is only nearly one can
            keep a sample by a small turn and not by twice that turn: there is then no stabiliser.
        tolerance: `|g x - x| <= tolerance |x|` counts as keeping x.
    """

    points: Shaped[Tensor, "m order *sample"]
    labels: Shaped[Tensor, "m"] | None
    group: FiniteGroup
    action: str
    missing: Bool[Tensor, "m order"]
    stabilisers: tuple[Int64[Tensor, "_"], ...]
    closed: Bool[Tensor, "m"]
    tolerance: float

    @property
    def samples(self) -> Shaped[Tensor, "m *sample"]:
        """The samples themselves: the points of the identity."""
        return self.points[:, self.group.identity]

    @property
    def free(self) -> Bool[Tensor, "m"]:
        """For each sample, whether only the identity keeps it."""
        return torch.tensor([len(kept) == 1 for kept in self.stabilisers])

    @property
    def is_free(self) -> bool:
        """Whether every orbit has as many different points as the group has elements."""
        return bool(self.free.all())

    def require_free(self) -> Orbits:
        """These orbits, if all are free.

        Raises:
            InputError: Some are not; names the samples, their stabilisers, and what to do.
        """
        if self.is_free:
            return self
        bad = (~self.free).nonzero()[:, 0].tolist()
        named = "; ".join(f"sample {s} is kept by {self._described(s)}" for s in bad[:5])
        more = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
        raise InputError(
            f"expected free orbits under {self.group.name} ({self.action}); {len(bad)} of "
            f"{len(self.closed)} are not: {named}{more} (to {self.tolerance:.2g} of the "
            "sample's norm). Leave these samples out with "
            "orbits.take(orbits.free), work on cosets of the stabiliser, or choose a smaller group."
        )

    def _described(self, sample: int) -> str:
        kept = self.stabilisers[sample]
        names = ", ".join(self.group.labels[g] for g in kept.tolist()[:8]) + (
            ", ..." if len(kept) > 8 else ""
        )
        if bool(self.closed[sample]):
            return f"the subgroup {{{names}}}"
        return (
            f"{{{names}}}, which is not closed under multiplication, so the action is only approximate there"
        )

    def take(self, samples: Int64[Tensor, "k"] | Bool[Tensor, "m"] | Sequence[int]) -> Orbits:
        """Some of the orbits, by position or by mask.

        Raises:
            InputError: No sample is left, or a position is out of range.
        """
        chosen = _positions(samples, len(self.closed))
        there = chosen.to(self.points.device)
        return replace(
            self,
            points=self.points[there],
            labels=None if self.labels is None else self.labels[chosen.to(self.labels.device)],
            missing=self.missing[chosen.to(self.missing.device)],
            stabilisers=tuple(self.stabilisers[s] for s in chosen.tolist()),
            closed=self.closed[chosen],
        )

    def leave_out(
        self, element: int = 0, *, samples: Sequence[int] | None = None, classes: Sequence[int] | None = None
    ) -> Orbits:
        """The same orbits with one element's points missing as well, for some samples (default: all).

        Args:
            element: The element whose points are left out; 0, the sample as it was given, by default.
            samples: Positions of samples.
            classes: Labels of samples, instead of positions.

        Raises:
            InputError: No such element, sample or class; both samples and classes; nothing left to train on.

        >>> from symscope.data.images import flip
        >>> o = orbits(torch.tensor([[[1.0, 2.0]], [[3.0, 5.0]]]), flip(), labels=torch.tensor([4, 7]))
        >>> o.leave_out(1, classes=[7]).missing.tolist()
        [[False, False], [False, True]]
        """
        if not 0 <= element < self.group.order:
            raise InputError(
                f"expected an element of {self.group.name}, 0 to {self.group.order - 1}, got {element}."
            )
        if samples is not None and classes is not None:
            raise InputError("expected samples or classes, got both; give one of them.")
        chosen = range(len(self.closed)) if samples is None else samples
        if classes is not None:
            chosen = [s for wanted in classes for s in self._of_class(wanted)]
        missing = self.missing.clone()
        missing[_positions(chosen, len(self.closed)).to(missing.device), element] = True
        return replace(self, missing=_checked_missing(missing, missing.shape))

    def _of_class(self, wanted: int) -> list[int]:
        if self.labels is None:
            raise InputError("expected labels to choose classes by; these orbits have none.")
        result = (self.labels == wanted).nonzero()[:, 0].tolist()
        if not result:
            raise InputError(
                f"expected a class that occurs, one of {self.labels.unique().tolist()[:20]}, got {wanted}."
            )
        return result

    def flat(self, *, interleaved: bool = False) -> FlatOrbits:
        """All points in one row, orbit after orbit; or interleaved, A0, B0, A1, B1, ..., element by element.

        >>> from symscope.data.images import shift
        >>> o = orbits(torch.tensor([[[1.0, 2.0]], [[3.0, 5.0]]]), shift(2))
        >>> o.flat(interleaved=True).points[:, 0, 0].tolist()
        [1.0, 3.0, 2.0, 5.0]
        """
        m, order = self.missing.shape
        samples = torch.arange(m)[:, None].expand(m, order)
        elements = torch.arange(order).expand(m, order)

        def row(x: Tensor) -> Tensor:
            return (x.movedim(0, 1) if interleaved else x).flatten(0, 1)

        flat_samples = row(samples)
        labels = None if self.labels is None else self.labels[flat_samples.to(self.labels.device)]
        return FlatOrbits(row(self.points), labels, flat_samples, row(elements), row(self.missing))


@checked
def orbits(
    x: Tensor,
    action: Action,
    labels: Tensor | None = None,
    missing: Tensor | None = None,
    tolerance: float | None = None,
) -> Orbits:
    """Every sample under every element: `points[s, g] = g x_s`.

    Seeds that some element keeps are found, not refused: their stabilisers are in the result, and
    `require_free()` refuses them where free orbits are needed.

    Args:
        x: Seeds `[m, *sample]`.
        action: What acts on them.
        labels: One label per sample, constant on its orbit.
        missing: `[m, order]`, the points left out of training; none by default.
        tolerance: `|g x - x| <= tolerance |x|` counts as keeping x. By default the square root of the
            machine epsilon (1.5e-8 in float64, 3.5e-4 in float32), below which a Gram matrix cannot tell the
            two points apart; 0 for integers.

    Raises:
        InputError: No samples, a wrong number of axes, entries that are not finite, labels or a mask of the
            wrong shape, every point missing, or a negative tolerance.

    >>> from symscope.data import rotation
    >>> o = orbits(torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]]]), rotation(4))
    >>> o.points.shape, o.is_free, [kept.tolist() for kept in o.stabilisers]
    (torch.Size([2, 4, 2, 2]), False, [[0, 2], [0]])
    """
    if x.ndim != action.sample_ndim + 1 or x.shape[0] == 0 or x.numel() == 0:
        raise InputError(
            f"expected samples [m, ...] with {action.sample_ndim} axes each and m >= 1 for the action "
            f"{action.name}, got shape {tuple(x.shape)}."
        )
    check_finite("samples", x)
    if labels is not None:
        if labels.shape != x.shape[:1]:
            raise InputError(
                f"expected one label per sample, shape ({x.shape[0]},), got shape {tuple(labels.shape)}."
            )
        check_finite("labels", labels)
    shape = torch.Size((x.shape[0], action.group.order))
    mask = torch.zeros(shape, dtype=torch.bool) if missing is None else _checked_missing(missing, shape)
    limit = default_tolerance(x.dtype) if tolerance is None else tolerance
    if not limit >= 0:
        raise InputError(
            f"expected a tolerance of 0 or more, relative to the sample's norm, got {tolerance}."
        )
    points = action.act_all(x)
    kept, closed = fixing_elements(points, x, action.group, limit)
    return Orbits(points, labels, action.group, action.name, mask, kept, closed, float(limit))


def _checked_missing(missing: Tensor, shape: torch.Size) -> Bool[Tensor, "m order"]:
    if missing.dtype != torch.bool or missing.shape != shape:
        raise InputError(
            f"expected a missing mask of booleans [samples, elements] = {tuple(shape)}, got {missing.dtype} "
            f"{tuple(missing.shape)}."
        )
    if bool(missing.all()):
        raise InputError("expected some points to train on; every point is marked missing.")
    return missing


def _positions(samples: Tensor | Sequence[int], count: int) -> Int64[Tensor, "k"]:
    given = torch.as_tensor(samples).cpu() if not isinstance(samples, range) else torch.tensor(list(samples))
    if given.dtype == torch.bool:
        if given.shape != (count,):
            raise InputError(f"expected a mask over {count} samples, got shape {tuple(given.shape)}.")
        given = given.nonzero()[:, 0]
    if given.numel() == 0:
        raise InputError("expected at least one sample, got none.")
    given = given.to(torch.int64).reshape(-1)
    if int(given.min()) < 0 or int(given.max()) >= count:
        raise InputError(f"expected samples from 0 to {count - 1}, got {given.tolist()[:20]}.")
    return given
