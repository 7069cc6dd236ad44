"""The exact group form: kernel regression on whole orbits with any elements missing, irrep by irrep.

Exact for any finite group, any number of orbits and any labels, constant on them or not. Costs
`sum_rho (m d_rho)^3` instead of `(m |G|)^3`; all missing sets come from the same factorisations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.groups import FiniteGroup
from symscope.numerics import Progress, byte_count, check_ridge, checked, usable_device
from symscope.spectral._irrep_parts import IrrepPart, SingularBlockError, irrep_part
from symscope.spectral._leave_out_result import LeaveOut, irrep_shares
from symscope.spectral._missing_sets import MissingSet, missing_sets
from symscope.spectral._profile import check_profile
from symscope.spectral._unseen import unseen_residual
from symscope.spectral.irrep_blocks import (
    Frequency,
    Quotient,
    check_stabilisers,
    checked_blocks,
    frequencies,
    quotient,
)

CERTAIN = 1e-6  # of the largest label: more may not depend on what the kernel does below rounding
SAME_LABEL = 1e-9  # of the largest label: below it two are the same
TWINS = 1e-10  # relative squared distance in feature space below which two points look like one


@checked
def leave_out(
    profile: Float[Tensor, "m m n"],
    labels: Float[Tensor, "labels *c"],
    missing: Bool[Tensor, "*sets samples elements"],
    group: FiniteGroup,
    ridge: float,
    *,
    stabilisers: Sequence[Tensor] | None = None,
    memory: int | float | str = "2GB",
    device: torch.device | str | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> LeaveOut:
    """Residuals and predictions at missing points of orbits, exact: `residual_M = (P_MM)^-1 (P y)_M`.

    `P_MM` is summed over irreps; `P y` lives on the trivial one if labels are constant on orbits, else on
    those on which they vary: a target that turns with its input, `y(g x) = rho(g) y(x)`, on those of rho. An
    irrep whose block is zero, such as every
    non-trivial irrep of the symmetry a network pools over, makes P infinite there: the limit of a vanishing
    ridge is taken exactly and `explanation` mentions it. Any other singular block is refused, and so is a
    missing set whose predictions depend on what a kernel that is zero to rounding does below it.

    Args:
        profile: `profile[s, t, d] = k(x_s, d x_t)`, from `kernel_profile` or `projected_profile`.
        labels: One number or vector per orbit, `[m, *c]`; or one per point, `[m |G|, *c]`, orbit after orbit.
        missing: `[m, |G|]` marks the points left out, `[sets, m, |G|]` several sets, each on its own.
        group: The group.
        ridge: Number added to the diagonal of K, and so of every block; there is no default.
        stabilisers: Elements that fix each sample, `data.orbits(...).stabilisers`; None when only
            the identity does. Points that coincide count once.
        memory: What the transformed profile, or the blocks in flight, may take.
        device: Device that factorises blocks; the profile's device when None.
        executor: Spreads irreps over the workers of any `concurrent.futures` executor.
        progress: Called as `progress("irreps", done, total)`.

    Raises:
        InputError: A profile that is not Hermitian or not of this group, labels that differ where points
            coincide, an empty or full missing set, a negative ridge, or wrong stabilisers.
        SingularKernelError: A block that is singular, or predictions that depend on rounding.

    >>> from symscope.groups import cyclic
    >>> profile = torch.tensor([[[2.0, 0.5], [0.2, 0.1]], [[0.2, 0.1], [3.0, 0.5]]], dtype=torch.float64)
    >>> missing = torch.tensor([[True, False], [False, False]])
    >>> labels = torch.tensor([1.0, -1.0], dtype=torch.float64)
    >>> result = leave_out(profile, labels, missing, cyclic(2), ridge=0.0)
    >>> result.residual.round(decimals=4).tolist(), result.prediction.round(decimals=4).tolist()
    ([0.8182], [0.1818])
    """
    check_ridge(ridge)
    check_profile(profile, group)
    points = quotient(group, stabilisers, len(profile))
    check_stabilisers(profile, group, points)
    values = orbit_labels(labels, group, points).to(profile.dtype)
    sets = missing_sets(missing, group, points)
    there = usable_device(device, profile)
    scale = float(profile.diagonal()[group.identity].abs().max())
    blocks = checked_blocks(profile, group, byte_count(memory))
    rows = values.reshape(*values.shape[:2], -1)
    arguments = (sets, points, rows, ridge, scale, there)
    size = len(profile) * max(f.dim for f in frequencies(group))
    at_once = max(1, byte_count(memory) // (4 * 16 * size**2))
    parts = _with_progress(_parts(blocks, arguments, executor, at_once), len(frequencies(group)), progress)
    try:
        return assemble(parts, sets, values.cpu(), group, points)
    except SingularBlockError as error:
        raise SingularKernelError(f"{error}. {_advice(profile, group, points)}") from error


def _parts(
    blocks: Iterator[tuple[Frequency, Tensor]],
    arguments: tuple[object, ...],
    executor: Executor | None,
    at_once: int,
) -> Iterator[tuple[Frequency, IrrepPart]]:
    """The parts in order, at most `at_once` blocks in flight."""
    if executor is None:
        for frequency, block in blocks:
            yield frequency, irrep_part(block, frequency, *arguments)  # type: ignore[arg-type]
        return
    waiting: deque[tuple[Frequency, Future[IrrepPart]]] = deque()
    for frequency, block in blocks:
        if len(waiting) >= at_once:
            first, future = waiting.popleft()
            yield first, future.result()
        waiting.append((frequency, executor.submit(irrep_part, block, frequency, *arguments)))  # type: ignore[arg-type]
    for first, future in waiting:
        yield first, future.result()


def _with_progress(
    parts: Iterator[tuple[Frequency, IrrepPart]], count: int, progress: Progress | None
) -> Iterator[tuple[Frequency, IrrepPart]]:
    for done, part in enumerate(parts, start=1):
        if progress is not None:
            progress("irreps", done, count)
        yield part


@checked
def assemble(
    parts: Iterable[tuple[Frequency, IrrepPart]],
    sets: Sequence[MissingSet],
    labels: Float[Tensor, "m e *c"],
    group: FiniteGroup,
    points: Quotient,
) -> LeaveOut:
    """The result from every irrep's part: sums, one solve per missing set, and what to say about it.

    The parts are taken one at a time, and only their sums and diagonals kept.
    """
    order: list[Frequency] = []
    unseen: list[Frequency] = []
    diagonals, even = [], []
    stiff: list[Tensor] = []
    weights: list[Tensor] = []
    size = 0.0
    for frequency, part in parts:
        order.append(frequency)
        even.append(torch.cat(part.even))
        if part.unseen_size is None:
            stiff = stiff or [torch.zeros_like(p) for p in part.precision]
            for total, share in zip(stiff, part.precision, strict=True):
                total.add_(share)
            diagonals.append(torch.cat([p.diagonal() for p in part.precision]).cpu())
        else:
            unseen.append(frequency)
            size = max(size, part.unseen_size)
            diagonals.append(even[-1].to(labels.dtype))
        if part.weights is not None:
            weights = weights or [torch.zeros_like(one) for one in part.weights]
            for total, share in zip(weights, part.weights, strict=True):
                total.add_(share)
    residuals = []
    for number, (one, own) in enumerate(zip(sets, stiff, strict=True)):
        given = weights[number].to(own)
        if not unseen:
            residuals.append(torch.cholesky_solve(given, torch.linalg.cholesky(own)).cpu())
            continue
        limit, doubt = unseen_residual(own.cpu(), given.cpu(), unseen, one, points, size)
        check_certain(doubt, float(labels.abs().max()), number, unseen, group, labels.dtype)
        residuals.append(limit.to(labels.dtype))
    solved = sum(bool((residual == 0).all()) for residual in residuals)
    samples, elements = (torch.cat([getattr(one, name) for one in sets]) for name in ("samples", "elements"))
    true = labels[samples, elements if labels.shape[1] > 1 else 0]
    residual = torch.cat(residuals).reshape(true.shape)
    names = [f.name for f in unseen]
    return LeaveOut(
        residual,
        true - residual,
        true,
        torch.cat([torch.full((len(one.samples),), k) for k, one in enumerate(sets)]),
        samples,
        elements,
        irrep_shares(
            order,
            torch.stack(diagonals),
            torch.stack(even).to(diagonals[0].dtype),
            torch.tensor([one.name in names for one in order]),
        ),
        int((group.order // points.stabiliser_orders).sum()),
        explanation(names, solved, len(sets), len(order), group, points),
    )


def check_certain(
    doubt: float, label: float, number: int, unseen: list[Frequency], group: FiniteGroup, dtype: torch.dtype
) -> None:
    """Refuses residuals that depend on what the kernel does below rounding."""
    if doubt > max(CERTAIN, torch.finfo(dtype).eps ** 0.5) * label:
        listed = ", ".join(one.name for one in unseen[:8]) + (" ..." if len(unseen) > 8 else "")
        raise SingularKernelError(
            f"missing set {number}: its predictions depend on irreps {listed} of {group.name}, on which the "
            f"kernel is zero only to rounding; as much as rounding there changes them by {doubt:.2g}. Leave "
            "out fewer points of an orbit, or use a ridge"
        )


def orbit_labels(
    labels: Shaped[Tensor, "*shape"], group: FiniteGroup, points: Quotient
) -> Shaped[Tensor, "m e *c"]:
    """Labels by orbit, `e = 1` where they are constant on orbits, else one for each point of an orbit.

    Args:
        labels: One per orbit, or per point, orbit after orbit.
        group: The group.
        points: Quotient that names the different points.

    Raises:
        InputError: Neither, not finite, or labels that differ where points coincide.
    """
    samples = len(points.stabiliser_orders)
    if labels.ndim < 1 or labels.is_complex() or not bool(labels.isfinite().all()):
        raise InputError(
            f"labels must be finite real numbers, one or more per orbit; got {labels.dtype} of shape "
            f"{tuple(labels.shape)}"
        )
    if len(labels) == samples:
        return labels[:, None]
    if len(labels) != samples * group.order:
        raise InputError(
            f"expected one label per orbit, {samples}, or per point, {samples * group.order}; got "
            f"{len(labels)}"
        )
    rows = labels.unflatten(0, (samples, group.order))
    if bool((rows == rows[:, :1]).all()):
        return rows[:, :1]
    if not points.is_free:
        check_same_labels(rows, points)
    return rows


def check_same_labels(labels: Shaped[Tensor, "m n *c"], points: Quotient) -> None:
    """Refuses labels that differ where points coincide.

    Raises:
        InputError: Says for which sample and elements.
    """
    first = labels[torch.arange(len(labels))[:, None], points.representative]
    apart = (labels - first).abs().flatten(2).amax(2) > SAME_LABEL * labels.abs().max()
    if bool(apart.any()):
        s, g = apart.nonzero()[0].tolist()
        raise InputError(
            f"labels: sample {s} is the same point under elements {int(points.representative[s, g])} and "
            f"{g}, but its labels differ there; a sample that an element keeps needs a label that it keeps"
        )


def _advice(profile: Float[Tensor, "m m n"], group: FiniteGroup, points: Quotient) -> str:
    """What most likely makes a block singular: samples that some element fixes, or two on one orbit."""
    own = profile.diagonal().T  # kappa_ss(d)
    near = (own[:, :1] - own) <= TWINS * own[:, :1].abs()
    kept = [
        (s, [group.labels[g] for g in near[s].nonzero()[:, 0].tolist()])
        for s in range(len(own))
        if int(near[s].sum()) > int(points.stabiliser_orders[s])
    ]
    if kept:
        listed = "; ".join(f"sample {s} looks the same under {', '.join(names[:6])}" for s, names in kept[:4])
        return (
            f"To the kernel {listed}: if these elements fix the samples, pass "
            "stabilisers=orbits.stabilisers; otherwise use a ridge"
        )
    return (
        "Two samples lie on one orbit, or points are too near each other for float64: remove such samples, "
        "or use a ridge"
    )


def explanation(
    unseen: list[str], solved: int, sets: int, irreps: int, group: FiniteGroup, points: Quotient
) -> str:
    text = []
    if not points.is_free:
        kept = (points.stabiliser_orders > 1).nonzero()[:, 0].tolist()
        text.append(
            f"{len(kept)} of {len(points.stabiliser_orders)} samples are fixed by more than the "
            f"identity of {group.name}; their orbits were treated as cosets, so that every different point "
            "counts once."
        )
    if unseen:
        which = "every non-trivial irrep" if len(unseen) == irreps - 1 else f"irreps {', '.join(unseen)}"
        text.append(
            f"The kernel is zero to rounding on {which} of {group.name}: it gives points that differ only "
            "there the same value."
        )
        if solved == sets:
            text.append(
                "Every missing point has the value of points that were seen, so the error is exactly zero."
            )
    return " ".join(text)
