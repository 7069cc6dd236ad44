"""What a group does to data: an `Action` is a group, and a function of an element and samples."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.numerics import checked


@checked
@final
@dataclass(frozen=True)
class Action:
    """A finite group acting on samples from the left: `g (h x) = (g h) x`, exactly or nearly.

    Make one with `rotation`, `shift`, `flip`, `dihedral_action`, `pixel_permutation`, `node_permutation`,
    `point_rotation`, `linear_action`, `custom_action` or `parse_action`. How far it is
    from a group action is measured by `action_errors(action, x)`.

    Attributes:
        name: What a plot or an error message calls it.
        group: The group that acts.
        transform: `(g [*a], x [*b, *sample]) -> [*c, *sample]`, where c is a broadcast with b; picklable
            (a module-level function, a `functools.partial` of one, or a picklable object with `__call__`).
        sample_ndim: How many trailing axes of x belong to one sample (2 for images, 1 for vectors).
        note: What the finite group stands for, if for a continuous one, and what that is exact for.

    >>> from symscope.data import rotation
    >>> rotation(4).act(1, torch.tensor([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """

    name: str
    group: FiniteGroup
    transform: Callable[[Tensor, Tensor], Tensor]
    sample_ndim: int
    note: str = ""

    def act(self, g: int | Int64[Tensor, "*elements"], x: Tensor) -> Tensor:
        """The transformed samples g x, on the device and in the dtype of x.

        Args:
            g: One element, or a tensor of elements whose shape broadcasts with the batch axes of x.
            x: Samples `[*batch, *sample]`.

        Returns:
            `[*broadcast of g and batch, *sample]`.

        Raises:
            InputError: An element outside the group, too few axes, or samples the action cannot take.

        >>> from symscope.data.images import flip
        >>> flip("x").act(torch.tensor([0, 1]), torch.tensor([[[1, 2]], [[3, 4]]])).tolist()
        [[[1, 2]], [[4, 3]]]
        """
        elements = torch.as_tensor(g)
        if elements.is_floating_point() or elements.is_complex() or elements.dtype == torch.bool:
            raise InputError(f"expected group elements as integers, got {elements.dtype}.")
        if elements.numel() and not bool(((elements >= 0) & (elements < self.group.order)).all()):
            raise InputError(
                f"expected elements of {self.group.name}, 0 to {self.group.order - 1}, got values from "
                f"{int(elements.min())} to {int(elements.max())}."
            )
        if x.ndim < self.sample_ndim:
            raise InputError(
                f"expected samples with {self.sample_ndim} axes for the action {self.name}, after any batch "
                f"axes; got shape {tuple(x.shape)}."
            )
        batch = x.shape[: x.ndim - self.sample_ndim]
        try:
            np.broadcast_shapes(elements.shape, batch)  # torch's loads its compiler and sympy
        except ValueError:
            raise InputError(
                f"expected elements whose shape broadcasts with the batch axes {tuple(batch)}, got shape "
                f"{tuple(elements.shape)}."
            ) from None
        return self.transform(elements.to(x.device, torch.int64), x)

    def act_all(self, x: Tensor) -> Tensor:
        """Every element on every sample: `[*batch, *sample] -> [*batch, |G|, *sample]`.

        >>> from symscope.data.images import shift
        >>> shift(3).act_all(torch.tensor([[5, 6, 7]])).tolist()
        [[[5, 6, 7]], [[7, 5, 6]], [[6, 7, 5]]]
        """
        everyone = torch.arange(self.group.order, device=x.device)
        if x.ndim < self.sample_ndim:
            return self.act(everyone, x)  # raises with the shape it expects
        return self.act(everyone, x.unsqueeze(x.ndim - self.sample_ndim))

    def element_name(self, g: int) -> str:
        """An element as users write it: degrees for rotations, else the group's own name.

        >>> from symscope.data import rotation
        >>> rotation(16).element_name(3)
        '67.5°'
        """
        turns = self.name.partition(":")[0] in ("rotation", "points")
        if turns and self.group.cyclic_factors is not None:
            return f"{360 * g / self.group.order:g}°"
        return str(self.group.labels[g])

    def orbit(self, x: Tensor) -> Tensor:
        """Every element on every item, channels moved together.

        `[m, *channels, *sample] -> [m, |G|, *channels, *sample]`.

        >>> from symscope.data.images import flip
        >>> flip("x").orbit(torch.tensor([[[[1, 2]], [[3, 4]]]])).tolist()
        [[[[[1, 2]], [[3, 4]]], [[[2, 1]], [[4, 3]]]]]
        """
        return self.act_all(x).movedim(x.ndim - self.sample_ndim, 1)


@checked
@final
@dataclass(frozen=True)
class ElementByElement:
    """A transform from a function of one element and a batch, called once per distinct element."""

    function: Callable[[int, Tensor], Tensor]
    sample_ndim: int

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        split = x.ndim - self.sample_ndim
        batch = np.broadcast_shapes(g.shape, x.shape[:split])
        sample = x.shape[split:]
        points = x.expand(*batch, *sample).reshape(math.prod(batch), *sample)
        elements = g.expand(batch).reshape(-1)
        out = torch.empty_like(points)
        for element in elements.unique().tolist():
            chosen = (elements == element).nonzero()[:, 0]
            out = out.index_copy(0, chosen, self._moved(int(element), points[chosen]))
        return out.reshape(*batch, *sample)

    def _moved(self, element: int, points: Tensor) -> Tensor:
        moved = self.function(element, points)
        if not isinstance(moved, Tensor) or moved.shape != points.shape or moved.dtype != points.dtype:
            got = (
                f"{tuple(moved.shape)} of {moved.dtype}"
                if isinstance(moved, Tensor)
                else type(moved).__name__
            )
            raise InputError(
                f"expected the action's function to return what it was given, {tuple(points.shape)} of "
                f"{points.dtype}; for element {element} it returned {got}."
            )
        return moved


@checked
def custom_action(
    group: FiniteGroup, function: Callable[[int, Tensor], Tensor], sample_ndim: int, name: str = "custom"
) -> Action:
    """Any function `(g, x) -> g x` as an action of a stated group.

    Whether it is one is not assumed: `departure` measures it.

    Args:
        group: The group that acts.
        function: Takes an element (int) and samples `[b, *sample]`, returns the same shape and dtype;
            a module-level function, if the action is to be sent to other processes.
        sample_ndim: How many trailing axes belong to one sample.
        name: What plots and messages call it.

    Raises:
        InputError: `sample_ndim` is negative, or the function does not take an element and samples.

    >>> from symscope.groups import cyclic
    >>> sign = custom_action(cyclic(2), lambda g, x: -x if g else x, sample_ndim=1, name="sign")
    >>> sign.act_all(torch.tensor([1.0, 2.0])).tolist()
    [[1.0, 2.0], [-1.0, -2.0]]
    """
    if sample_ndim < 0:
        raise InputError(f"expected the number of axes of one sample, 0 or more, got {sample_ndim}.")
    _check_arguments(function, name)
    return Action(name, group, ElementByElement(function, sample_ndim), sample_ndim)


def _check_arguments(function: Callable[[int, Tensor], Tensor], name: str) -> None:
    """Refuses a function that cannot be called with an element and samples."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in callables have no signature
        return
    try:
        signature.bind(0, None)
    except TypeError as error:
        raise InputError(
            f"action {name}: expected a function of an element and samples, (g, x) -> g x; got arguments "
            f"{signature} ({error})."
        ) from error


@final
@dataclass(frozen=True, eq=False)
class PointPermutation:
    """A transform that permutes the entries of each flattened sample by `sources[g]`."""

    sources: Int64[Tensor, "order points"]
    sample_ndim: int

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        split = x.ndim - self.sample_ndim
        points = math.prod(x.shape[split:])
        if points != self.sources.shape[1]:
            raise InputError(
                f"expected samples of {self.sources.shape[1]} entries, as the permutations move, got "
                f"{tuple(x.shape[split:])}, which has {points}."
            )
        moved = gather_points(x.reshape(*x.shape[:split], points), self.sources.to(x.device)[g])
        return moved.reshape(*moved.shape[:-1], *x.shape[split:])


def gather_points(x: Tensor, sources: Int64[Tensor, "*elements points"]) -> Tensor:
    """`out[..., i] = x[..., sources[..., i]]`, batch axes broadcast."""
    if sources.ndim == 1:
        return x[..., sources]
    batch = np.broadcast_shapes(x.shape[:-1], sources.shape[:-1])
    return x.expand(*batch, x.shape[-1]).gather(-1, sources.expand(*batch, sources.shape[-1]))


def default_tolerance(dtype: torch.dtype) -> float:
    """The square root of the machine epsilon; 0 for integers, which are exact.

    Kernels see squared distances: two points nearer than this give a Gram matrix singular to rounding.

    >>> f"{default_tolerance(torch.float64):.1e}", default_tolerance(torch.uint8)
    ('1.5e-08', 0.0)
    """
    if dtype.is_floating_point or dtype.is_complex:
        return float(torch.finfo(dtype).eps) ** 0.5
    return 0.0


@checked
def fixing_elements(
    points: Tensor, x: Tensor, group: FiniteGroup, tolerance: float
) -> tuple[tuple[Int64[Tensor, "_"], ...], Bool[Tensor, "m"]]:
    """For each sample the elements with `|g x - x| <= tolerance |x|`, and whether they are a subgroup.

    Args:
        points: `points[s, g] = g x_s`, `[m, order, *sample]`.
        x: The samples, `[m, *sample]`.
        group: The group.
        tolerance: Relative.

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 1.0], [1.0, 2.0]])
    >>> fixing_elements(torch.stack([x, x.flip(1)], dim=1), x, cyclic(2), 0.0)
    ((tensor([0, 1]), tensor([0])), tensor([True, True]))
    """
    wide = torch.complex128 if x.is_complex() else torch.float64
    samples = x.to(wide).flatten(1)
    keeps = torch.zeros(len(x), group.order, dtype=torch.bool)
    for g in group.elements:  # one element at a time: a double copy of all points would cost memory
        away = (points[:, g].to(wide).flatten(1) - samples).norm(dim=1)
        keeps[:, g] = (away <= tolerance * samples.norm(dim=1)).cpu()
    keeps[:, group.identity] = True
    kept = tuple(row.nonzero()[:, 0] for row in keeps)
    closed = torch.tensor([len(one) == 1 or len(group.subgroup(one)) == len(one) for one in kept])
    return kept, closed
