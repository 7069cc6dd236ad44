"""Kernel regression on a coverage: samples of which some transformations were seen, thousands of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.groups import FiniteGroup, check_finite_group
from symscope.numerics import Progress, byte_count, check_ridge, checked, usable_device
from symscope.spectral._coverage_cost import CoverageCost, CoverageSize, cheapest, with_seconds
from symscope.spectral._coverage_methods import (
    CoverageProblem,
    Predictions,
    dense_predictions,
    feature_predictions,
    orbit_predictions,
)
from symscope.spectral._kernel_entries import OrbitPoints, own_values
from symscope.spectral._leave_out import orbit_labels
from symscope.spectral._leave_out_result import IrrepShare
from symscope.spectral._missing_sets import MissingSet, missing_sets
from symscope.spectral._orbit_inverse import orbit_quotient
from symscope.spectral._orbit_tiles import ProjectedKernel, projected_kernel
from symscope.spectral.irrep_blocks import Quotient, quotient

KernelFunction = Callable[[Tensor, Tensor], Tensor]
FALLBACK_RIDGE = 1e-6  # of the mean diagonal: where a kernel is singular over the points, and only there
DIAGONAL_POINTS = 4096  # points, spread over all, whose own values give that mean
SEVERAL_ROUNDINGS = 4  # that a ridge must exceed, for each row, in low precision


@final
@dataclass(frozen=True, eq=False)
class CoverageRegression:
    """What kernel regression predicts at every transformation of training samples and of new ones.

    Attributes:
        prediction: At every point of the training samples, seen or not, after training on the seen ones.
        new_prediction: At every point of the new samples.
        seen: Masks of the points in the training data; points that coincide with one of them included.
        methods: "orbits", "dense" or "features" for each coverage.
        ridge: Number that was added to the diagonal.
        invariance_error: `|K - projected K| / |K|` of the kernel over all points of the training samples; 0
            where it is invariant as it is, None where it was used unprojected.
        irreps: Each irrep's share in what holds missing points in place; empty where "orbits" was not used.
        notes: What was special, in words.
    """

    prediction: Float[Tensor, "sets m n *c"]
    new_prediction: Float[Tensor, "sets k n *c"]
    seen: Bool[Tensor, "sets m n"]
    methods: tuple[str, ...]
    ridge: float
    invariance_error: float | None
    irreps: tuple[IrrepShare, ...]
    notes: tuple[str, ...]


@checked
def coverage_regression(
    kernel: KernelFunction | None,
    points: Float[Tensor, "m n *sample"],
    labels: Float[Tensor, "labels *c"],
    seen: Bool[Tensor, "*sets samples elements"],
    group: FiniteGroup,
    ridge: float = 0.0,
    *,
    new: Float[Tensor, "k e *new_sample"] | None = None,
    method: str = "auto",
    memory: int | float | str = "4GB",
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> CoverageRegression:
    """Train on the seen points of samples under a group; predict all their points, and those of new samples.

    `f(z) = k(z, T) (K_TT + ridge)^-1 y_T`, T the seen points. Where few points are missing it is solved
    through the group for all coverages at once, with the kernel's projection on invariant ones, block by
    block over pairs of orbits: `m^2 |G| / 2` numbers are held and `(m |G|)^2` never exist. Where more are
    missing than seen, the plain way with the kernel as it is takes less and is used; features are not
    projected without need. The cheaper way is chosen by counting operations; `coverage_cost` tells before. A
    kernel that is singular over the points gets a ridge of 1e-6 of its mean diagonal, and a note.

    Args:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`, any `symscope.kernels.Kernel` or function
            (exact on the diagonal when it is given one tensor twice); None where points are features,
            `[m, |G|, features]`, and the kernel is their inner product.
        points: Every sample under every element, `points[s, g] = g x_s`, floating point.
        labels: One number or vector for each sample, `[m, *c]`; or for each point, `[m |G|, *c]`, sample
            after sample, where they vary: a target that turns with its input.
        seen: Points in the training data, `[m, |G|]`, or several coverages, `[sets, m, |G|]`.
        group: The group; points are in the order of its elements.
        ridge: Number added to the diagonal of K.
        new: Every new sample under every element.
        method: "orbits", "dense" or, with kernel None, "features", to insist.
        memory: What may be used besides points and results, in bytes or as text; the smaller, the more often
            the kernel is evaluated.
        dtype: torch.float32 to hold projected kernels and factors in half the memory, with half the digits;
            None for the precision of the kernel's entries.
        device: Device to compute on; the points' device when None.
        progress: Called as `progress("kernel", "irreps", "new samples" ..., done, total)`.

    Returns:
        Predictions, on the device that computed them.

    Raises:
        InputError: Points, labels or masks that do not match each other or the group, no seen point, a
            negative ridge, a kernel that does not return one real entry for every pair, or too little memory
            (says how much is needed).

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 2.0], [0.5, 1.5]], dtype=torch.float64)
    >>> points, rbf = torch.stack([x, x.flip(-1)], 1), lambda a, b: torch.exp(-torch.cdist(a, b))
    >>> seen = torch.tensor([[False, True], [True, True]])
    >>> result = coverage_regression(rbf, points, torch.tensor([1.0, -1.0]).double(), seen, cyclic(2))
    >>> result.prediction.round(decimals=4).tolist(), result.methods
    ([[[-0.351, 1.0], [-1.0, -1.0]]], ('orbits',))
    """
    check_ridge(ridge)
    budget = byte_count(memory)
    place = usable_device(device, points)
    orbits = _orbits("points", points, group, place)
    fresh = _orbits("new", points[:0] if new is None else new, group, place, like=orbits)
    masks, quotients = _coverages(seen, orbits, budget)
    outputs = _labels(labels, group, quotients)
    asked = CoverageProblem(orbits, fresh, quotients, outputs, masks, ridge, budget, dtype, progress)
    function = inner_products if kernel is None else kernel
    made: ProjectedKernel | None = projected_kernel(function, orbits, dtype) if method != "dense" else None
    missing = _missing(masks, group, quotients)
    size = _size(asked, made, missing, kernel is None)
    methods = cheapest(size, budget, method).methods
    notes: list[str] = []
    try:
        result = _solved(function, made, asked, missing, methods)
    except SingularKernelError:
        mean = _mean_diagonal(function, orbits)
        rows = SEVERAL_ROUNDINGS * orbits.samples.shape[0] if dtype == torch.float32 else 0
        fallback = mean * max(FALLBACK_RIDGE, rows * torch.finfo(torch.float32).eps)
        if ridge >= fallback:
            raise
        notes.append(
            f"The kernel is singular over these {masks.shape[1] * masks.shape[2]} points (fewer weights than "
            f"points, or points the network cannot tell apart); a ridge of {fallback / mean:g} of its mean "
            "diagonal was added."
        )
        result = _solved(function, made, replace(asked, ridge=fallback), missing, methods)
    shape = labels.shape[1:]
    return replace(
        result,
        prediction=result.prediction.reshape(*result.prediction.shape[:3], *shape),
        new_prediction=result.new_prediction.reshape(*result.new_prediction.shape[:3], *shape),
        notes=(*notes, *result.notes),
    )


@checked
def coverage_cost(
    kernel: KernelFunction | None,
    points: Float[Tensor, "some n *sample"],
    seen: Bool[Tensor, "*sets samples elements"],
    group: FiniteGroup,
    *,
    outputs: int,
    new_samples: int = 0,
    method: str = "auto",
    memory: int | float | str = "4GB",
    dtype: torch.dtype | None = None,
) -> CoverageCost:
    """What `coverage_regression` would take, from a few samples: entries, operations, bytes and seconds.

    Args:
        kernel: The kernel, as in `coverage_regression`.
        points: A few of the samples under every element, on the device that is to compute.
        seen: The coverages of all samples.
        group: The group.
        outputs: Numbers of one label.
        new_samples: Number of new samples.
        method: As in `coverage_regression`.
        memory: As in `coverage_regression`.
        dtype: As in `coverage_regression`.

    Raises:
        InputError: As for `coverage_regression`.

    >>> from symscope.groups import cyclic
    >>> points = torch.randn(2, 4, 3, dtype=torch.float64)
    >>> seen = torch.ones(100, 4, dtype=torch.bool)
    >>> seen[:50, 0] = False
    >>> cost = coverage_cost(lambda a, b: torch.exp(-torch.cdist(a, b)), points, seen, cyclic(4), outputs=10)
    >>> cost.methods, int(cost.entries)
    (('orbits',), 80000)
    """
    orbits = _orbits("points", points, group, points.device)
    masks = _masks(seen, group)
    count, budget = masks.shape[1], byte_count(memory)
    free = quotient(group, None, count)
    missing = _missing(masks, group, free)
    function = inner_products if kernel is None else kernel
    made = projected_kernel(function, orbits, dtype) if method != "dense" else None
    size = CoverageSize(
        count,
        group,
        len(made.representatives) if made else 1,
        orbits.samples[0, 0].numel(),
        tuple(masks.flatten(1).sum(1).tolist()),
        missing,
        outputs,
        new_samples,
        kernel is None,
        4 if dtype == torch.float32 else 8,
    )
    return with_seconds(cheapest(size, budget, method), function, orbits.samples.flatten(0, 1))


def inner_products(x1: Float[Tensor, "a f"], x2: Float[Tensor, "b f"]) -> Float[Tensor, "a b"]:
    """The kernel of features, in double precision."""
    return x1.double() @ x2.double().T


def _solved(
    kernel: KernelFunction,
    projected: ProjectedKernel | None,
    asked: CoverageProblem,
    missing: Sequence[MissingSet | None],
    methods: Sequence[str],
) -> CoverageRegression:
    parts: dict[int, Predictions] = {}
    left, error = None, None
    chosen = [k for k, one in enumerate(methods) if one == "orbits"]
    if chosen:
        assert projected is not None
        part = replace(asked, seen=asked.seen[chosen])
        (train, new), left, error = orbit_predictions(projected, part, [missing[k] for k in chosen])
        parts |= {k: (train[i : i + 1], new[i : i + 1]) for i, k in enumerate(chosen)}
    if "features" in methods:
        parts = dict(enumerate(feature_predictions(asked)))
    for k, one in enumerate(methods):
        if one == "dense":
            parts[k] = dense_predictions(kernel, asked, k)
    notes = []
    if error:
        notes.append(
            f"The kernel is not invariant under {asked.orbits.group.name} ({100 * error:.2g} %); it was "
            "replaced by the nearest one that is."
        )
    if left is not None and left.explanation:
        notes.append(left.explanation)
    wide = max((part[0].dtype for part in parts.values()), key=lambda kind: kind.itemsize)
    train, new = (torch.cat([parts[k][i].to(wide) for k in range(len(methods))]) for i in (0, 1))
    shares = () if left is None else left.irreps
    return CoverageRegression(
        train, new, asked.seen, tuple(methods), asked.ridge, error, shares, tuple(notes)
    )


def _orbits(
    name: str, points: Tensor, group: FiniteGroup, device: torch.device, like: OrbitPoints | None = None
) -> OrbitPoints:
    order = check_finite_group(group).order
    if points.ndim < 3 or points.shape[1] != order or (like is None and len(points) == 0):
        raise InputError(
            f"{name}: expected every sample under every element of {group.name}, [samples, {order}, "
            f"*sample]; got shape {tuple(points.shape)}"
        )
    if not points.is_floating_point() or not bool(points.isfinite().all()):
        raise InputError(f"{name}: expected finite floating-point numbers, got {points.dtype}")
    if like is not None and points.shape[2:] != like.samples.shape[2:]:
        raise InputError(
            f"{name}: expected points of shape {tuple(like.samples.shape[2:])} as in training, got "
            f"{tuple(points.shape[2:])}"
        )
    return OrbitPoints(points.detach().to(device), group)


def _labels(labels: Tensor, group: FiniteGroup, points: Quotient) -> Float[Tensor, "m e c"]:
    rows = orbit_labels(labels.detach().double().cpu(), group, points)
    return rows.reshape(*rows.shape[:2], -1)


def _masks(seen: Shaped[Tensor, "*shape"], group: FiniteGroup) -> Bool[Tensor, "sets m n"]:
    if seen.ndim not in (2, 3) or seen.shape[-1] != group.order or seen.numel() == 0:
        raise InputError(
            f"seen: expected masks [samples, {group.order}] or [sets, samples, {group.order}] for the "
            f"{group.order} elements of {group.name}, got shape {tuple(seen.shape)}"
        )
    masks = seen.cpu().reshape(-1, *seen.shape[-2:])
    empty = (~masks.flatten(1).any(1)).nonzero()[:, 0].tolist()
    if empty:
        raise InputError(f"seen: expected at least one seen point, coverage {empty[0]} has none")
    return masks


def _coverages(seen: Tensor, orbits: OrbitPoints, budget: int) -> tuple[Bool[Tensor, "sets m n"], Quotient]:
    """Masks that are equal where points coincide: what was seen under one element was seen."""
    masks = _masks(seen, orbits.group)
    if masks.shape[1] != len(orbits):
        raise InputError(f"seen: expected masks of {len(orbits)} samples, got {masks.shape[1]}")
    points = orbit_quotient(orbits, budget)
    if points.is_free:
        return masks, points
    first = points.representative.expand(len(masks), -1, -1)
    merged = torch.zeros_like(masks, dtype=torch.uint8).scatter_reduce(2, first, masks.byte(), "amax")
    return merged.gather(2, first).bool(), points


def _missing(
    masks: Bool[Tensor, "sets m n"], group: FiniteGroup, points: Quotient
) -> tuple[MissingSet | None, ...]:
    return tuple(None if bool(mask.all()) else missing_sets(~mask, group, points)[0] for mask in masks)


def _size(
    asked: CoverageProblem,
    projected: ProjectedKernel | None,
    missing: tuple[MissingSet | None, ...],
    linear: bool,
) -> CoverageSize:
    orders = asked.points.stabiliser_orders
    different = asked.points.representative == torch.arange(asked.seen.shape[2])
    return CoverageSize(
        len(orders),
        asked.orbits.group,
        len(projected.representatives) if projected else 1,
        asked.orbits.samples[0, 0].numel(),
        tuple((asked.seen & different).flatten(1).sum(1).tolist()),
        missing,
        asked.labels.shape[2],
        len(asked.new),
        linear,
        4 if asked.dtype == torch.float32 else 8,
    )


def _mean_diagonal(kernel: KernelFunction, orbits: OrbitPoints) -> float:
    flat = orbits.samples.flatten(0, 1)
    step = -(-len(flat) // DIAGONAL_POINTS)
    return float(own_values(kernel, flat[::step]).mean())
