"""Equivariant regression with kernels that are a matrix over outputs, exact irrep by irrep.

A network with c outputs has a c x c matrix `K(x, x') = J(x) J(x')^T` for every pair of inputs. Where targets
turn with inputs, `y(g x) = rho(g) y(x)`, and the kernel does, `K(g x, g x') = rho(g) K(x, x') rho(g)^T`,
turning outputs back makes targets constant on orbits and the kernel a function of the step between elements:
everything of `leave_out` holds.

When the kernel does so:

- one number times the identity, k(x, x') invariant: wide networks whose outputs come from a linear layer, any
  orthogonal rho. (`leave_out` with labels for every point gives the same numbers from smaller blocks.)
- the NTK of a network whose weights start equivariant, and are all trained: exactly, at any width;
- `K(g x, h x') = rho(g) K(x, x') rho(h)^T`, an equivariant network of which only equivariant weights are
  trained: then every prediction at a missing point is that at a seen one.

Other kernels, the NTK of a finite network at random weights among them, are replaced by the nearest one that
does, the mean of `rho(g)^T K(g x, g x') rho(g)`; `equivariance_error` is how far that is. Regression with the
kernel as it is, without the group, is `dense.leave_out_residual` over points and outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor

from symscope.data import Action, check_action, default_tolerance, fixing_elements
from symscope.errors import InputError, SingularKernelError
from symscope.groups import FiniteGroup, Representation, from_matrices
from symscope.numerics import byte_count, check_finite, check_memory, check_ridge, checked
from symscope.spectral._irrep_parts import SingularBlockError
from symscope.spectral._kernel_entries import check_samples
from symscope.spectral._leave_out import check_certain, explanation
from symscope.spectral._leave_out_result import LeaveOut, irrep_shares
from symscope.spectral._matrix_parts import TurnedBack, matrix_part, unseen_directions
from symscope.spectral._missing_sets import MissingSet, missing_sets
from symscope.spectral._profile import check_profile
from symscope.spectral._unseen import constrained_residual
from symscope.spectral.irrep_blocks import Frequency, Quotient, frequencies, quotient

__all__ = ["MatrixKernel", "MatrixProfile", "leave_out_matrix", "matrix_profile"]

MatrixKernel = Callable[[Tensor, Tensor], Tensor]
"""`(x1 [a, *sample], x2 [b, *sample]) -> [a, b, c, c]`, as `kernels.empirical_ntk_blocks` of a module."""

TRIED = 3  # samples on which a kernel is asked whether it is equivariant
EQUIVARIANT = 4.5e-7  # relative to the largest entry: what a kernel of coinciding points may lose
SAME = 1e-9  # of the largest target: below it two are the same


@checked
@final
@dataclass(frozen=True, eq=False)
class MatrixProfile:
    """A kernel with a matrix over outputs, over whole orbits; made by `matrix_profile`.

    Attributes:
        values: `values[s, i, t, j, d] = (K(x_s, d x_t) rho(d))_ij`: outputs are turned back.
        outputs: How outputs turn, rho.
        stabilisers: Elements that fix each sample.
        equivariance_error: `|K - projected K| / |K|` where the kernel had to be projected on equivariant
            ones, 0 where it was equivariant.
    """

    values: Float64[Tensor, "m c m c n"]
    outputs: Representation
    stabilisers: tuple[Int64[Tensor, "_"], ...]
    equivariance_error: float = 0.0

    def __repr__(self) -> str:
        m, c, n = (self.values.shape[axis] for axis in (0, 1, 4))
        error = f", projected: {self.equivariance_error:.2%} away" if self.equivariance_error else ""
        return f"MatrixProfile({m} orbits of {n} points, {c} outputs under {self.outputs!r}{error})"


@checked
def matrix_profile(
    kernel: MatrixKernel,
    action: Action,
    samples: Shaped[Tensor, "m *sample"],
    outputs: Representation,
    *,
    memory: int | float | str = "2GB",
) -> MatrixProfile:
    """A kernel with a matrix over outputs, over the orbits of samples, projected if it is not equivariant.

    `values[s, :, t, :, d] = mean_g rho(g)^T K(g x_s, g d x_t) rho(g d)`, of which one g is enough where `K(g
    x, g x') = rho(g) K(x, x') rho(g)^T`; that is tried on a few samples.

    Args:
        kernel: `(x1, x2) -> [a, b, c, c]`: `lambda x, y: kernels.empirical_ntk_blocks(net, x, y)`.
        action: Action on the samples.
        samples: One sample of each orbit, floating point.
        outputs: How outputs turn: an orthogonal representation of the action's group.
        memory: What the profile and a piece of the kernel may take.

    Raises:
        InputError: No orthogonal representation, or one of another group; samples that are empty or not
            finite; a kernel without a finite c x c matrix for every pair; a function that is no action; too
            little memory.

    >>> from torch import nn
    >>> from symscope import data, groups, kernels
    >>> turns = data.point_clouds.point_rotation(groups.cyclic(4), 2)
    >>> vectors = groups.from_matrices(groups.cyclic(4), turns.transform.matrices)
    >>> cloud = torch.tensor([[[1.0, 0.5], [-0.3, 2.0]]], dtype=torch.float64)
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 2, bias=False))
    >>> matrix_profile(lambda x, y: kernels.empirical_ntk_blocks(net, x, y), turns, cloud, vectors)
    MatrixProfile(1 orbits of 4 points, 2 outputs under matrices of C4)
    """
    check_samples(samples)
    check_finite("the samples", samples)
    rho, group = orthogonal_matrices(outputs), action.group
    if not torch.equal(group.table, outputs.group.table):  # type: ignore[union-attr]
        raise InputError(
            f"expected outputs that turn under {group.name}, the group that acts on the samples, got a "
            f"representation of {outputs.group.name}."
        )
    check_action(action, samples[:8])
    m, c, n, budget = len(samples), outputs.dim, group.order, byte_count(memory)
    check_memory("the profile", 3 * 8 * m * m * c * c * n, "take fewer samples", most=budget)
    points = action.orbit(samples)
    stabilisers, closed = fixing_elements(points, samples, group, default_tolerance(samples.dtype))
    if not bool(closed.all()):
        s = int((~closed).nonzero()[0])
        raise InputError(f"sample {s} nearly coincides with its images under some elements; leave it out.")
    rows = max(1, budget // (4 * 8 * m * n * c * c))
    exact = _is_equivariant(kernel, points[:TRIED], rho, group)
    profile, whole = torch.zeros(m, m, n, c, c, dtype=torch.float64), 0.0
    for g in [group.identity] if exact else group.elements:
        for some in torch.arange(m).split(rows):
            tile = _entries(kernel, points[some, g], points.flatten(0, 1), c).unflatten(1, (m, n))
            whole += float(tile.square().sum())
            turned = torch.einsum("ki,stdkl,dlj->stdij", rho[g], tile, rho)
            profile[some] += turned[:, :, group.table[g]]
    profile /= 1 if exact else n
    values = profile.permute(0, 3, 1, 4, 2).contiguous()
    away = 0.0 if exact else max(0.0, 1 - n * float(values.square().sum()) / max(whole, 1e-300)) ** 0.5
    mirror = values.permute(2, 3, 0, 1, 4)[..., group.inverses]
    return MatrixProfile((values + mirror) / 2, outputs, stabilisers, away)


@checked
def leave_out_matrix(
    profile: MatrixProfile,
    targets: Float[Tensor, "rows columns"],
    missing: Bool[Tensor, "*sets samples elements"],
    ridge: float,
) -> LeaveOut:
    """Residuals and predictions at missing points of orbits, for targets that turn and a kernel of matrices.

    `residual_M = (P_MM)^-1 (P y)_M`, P the inverse over all points and outputs, summed over irreps. Exact for
    kernels that are equivariant, whatever the group, orthogonal representation, missing points and
    stabilisers; see the module.

    Args:
        profile: The kernel over orbits.
        targets: Those of the samples, `[m, c]`, which turn with them; or one row for every point, `[m |G|,
            c]`, orbit after orbit, as they are.
        missing: `[m, |G|]` marks the points left out, `[sets, m, |G|]` several sets, each on its own.
        ridge: Number added to the diagonal of K; there is no default.

    Returns:
        As `leave_out`, with outputs as they are, not turned back; irreps are those of the outputs turned
        back: on the trivial one functions are equivariant.

    Raises:
        InputError: Targets of another shape or not finite, or that an element which keeps the sample changes;
            missing sets that are none; a negative ridge.
        SingularKernelError: A block that is singular, or predictions that depend on rounding.

    >>> from symscope.groups import cyclic, from_matrices
    >>> flip = from_matrices(cyclic(2), torch.tensor([[[1.0]], [[-1.0]]]))
    >>> values = torch.tensor([3.0, -1.0], dtype=torch.float64).reshape(1, 1, 1, 1, 2)
    >>> profile = MatrixProfile(values, flip, (torch.tensor([0]),))
    >>> missing = torch.tensor([[False, True]])
    >>> leave_out_matrix(profile, torch.tensor([[2.0]], dtype=torch.float64), missing, ridge=0.0).prediction
    tensor([[0.6667]], dtype=torch.float64)
    """
    check_ridge(ridge)
    rho, group = orthogonal_matrices(profile.outputs), profile.outputs.group
    assert isinstance(group, FiniteGroup)
    m, c = profile.values.shape[:2]
    if profile.values.shape != (m, c, m, c, group.order) or c != profile.outputs.dim:
        raise InputError(
            f"expected a profile [m, {profile.outputs.dim}, m, {profile.outputs.dim}, {group.order}] for "
            f"{profile.outputs!r}, got {tuple(profile.values.shape)}."
        )
    flat = profile.values.flatten(2, 3).flatten(0, 1)
    check_profile(flat, group)
    points = quotient(group, profile.stabilisers, m)
    labels = _turned_back(targets, rho, points, group)
    sets = missing_sets(missing, group, points)
    rows = labels.transpose(1, 2).flatten(0, 1)[..., None]
    scale = float(flat.diagonal()[group.identity].abs().max())
    problem = TurnedBack(flat, rows, rho, points, sets, ridge, scale)
    try:
        result = _assembled(problem, labels, group)
    except SingularBlockError as error:
        raise SingularKernelError(
            f"{error}. Two samples lie on one orbit, there are fewer features than points and outputs, or "
            "points are too near: remove such samples, or use a ridge"
        ) from error
    if not profile.equivariance_error:
        return result
    note = (
        f"The kernel is not equivariant under {group.name} ({100 * profile.equivariance_error:.2g} %); it "
        f"was replaced by the nearest one that is. {result.explanation}"
    )
    return replace(result, invariance_error=profile.equivariance_error, explanation=note.strip())


def orthogonal_matrices(outputs: Representation) -> Float64[Tensor, "n c c"]:
    """The matrices of a representation, checked.

    Raises:
        InputError: A group that is not listed; matrices that are complex, do not multiply as the group or are
            not orthogonal.

    >>> from symscope.groups import cyclic, permutation
    >>> orthogonal_matrices(permutation(cyclic(2)))[1].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if not isinstance(outputs.group, FiniteGroup):
        raise InputError(f"outputs: expected a representation of a listed finite group, got {outputs!r}.")
    matrices = outputs.matrices
    if matrices.is_complex():
        raise InputError(f"outputs: expected a real representation, {outputs!r} is complex.")
    try:
        known = from_matrices(outputs.group, matrices)
    except InputError as error:
        raise InputError(f"outputs: {outputs!r} is no representation: {error}") from error
    if not known.unitary:
        raise InputError(
            f"outputs: expected an orthogonal representation, {outputs!r} is not; change the basis of "
            "targets first, groups.unitary_form."
        )
    return known.matrices


def _entries(kernel: MatrixKernel, x1: Tensor, x2: Tensor, c: int) -> Float64[Tensor, "a b c c"]:
    result = kernel(x1, x2)
    if not isinstance(result, Tensor) or result.shape != (len(x1), len(x2), c, c):
        got = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise InputError(
            f"kernel: expected a matrix over {c} outputs for every pair, "
            f"[{len(x1)}, {len(x2)}, {c}, {c}], got {got}."
        )
    check_finite("the kernel's entries", result)
    return result.detach().double().cpu()


def _is_equivariant(
    kernel: MatrixKernel,
    points: Shaped[Tensor, "m n *sample"],
    rho: Float64[Tensor, "n c c"],
    group: FiniteGroup,
) -> bool:
    """Whether `K(g x, g h x') = rho(g) K(x, h x') rho(g)^T` for generators g, on a few samples and h."""
    few = torch.tensor(sorted({group.identity, *group.generators, group.order - 1}))
    there = points[:, few].flatten(0, 1)
    before = _entries(kernel, points[:, group.identity], there, rho.shape[1])
    for g in group.generators:
        moved = points[:, group.table[g, few]].flatten(0, 1)
        after = _entries(kernel, points[:, g], moved, rho.shape[1])
        gap = (after - rho[g] @ before @ rho[g].T).abs().max()
        if float(gap) > EQUIVARIANT * float(before.abs().max()):
            return False
    return True


def _turned_back(
    targets: Float[Tensor, "rows columns"],
    rho: Float64[Tensor, "n c c"],
    points: Quotient,
    group: FiniteGroup,
) -> Float64[Tensor, "m e c"]:
    """`rho(g)^T y(s, g)`: one row for each orbit where targets turn with samples, else one for each point."""
    m, (n, c) = len(points.stabiliser_orders), rho.shape[:2]
    if targets.ndim != 2 or targets.shape[1] != c or len(targets) not in (m, m * n):
        raise InputError(
            f"expected targets [{m}, {c}], one row for each sample, or [{m * n}, {c}], one for each point, "
            f"got {tuple(targets.shape)}."
        )
    check_finite("targets", targets)
    y, size = targets.double().cpu(), SAME * float(targets.abs().max())
    turned = y[:, None] if len(y) == m else torch.einsum("gij,mgi->mgj", rho, y.unflatten(0, (m, n)))
    if bool(((turned - turned[:, :1]).abs() <= size).all()):
        turned = turned[:, :1]
    for s, stabiliser in enumerate(points.stabilisers):
        for h in stabiliser.tolist():
            after = group.table[:, h] if turned.shape[1] > 1 else slice(None)
            gap = (turned[s][after] - turned[s] @ rho[h]).abs().max()  # F(g h) = rho(h)^T F(g)
            if float(gap) > size:
                raise InputError(
                    f"targets: element {group.labels[h]} keeps sample {s} and changes its target, so that no "
                    "function predicts both; leave it out, or choose another representation."
                )
    return turned


def _assembled(problem: TurnedBack, labels: Float64[Tensor, "m e c"], group: FiniteGroup) -> LeaveOut:
    """Sums over irreps, one solve for each missing set, outputs turned to where they belong."""
    stiff = [
        torch.zeros(len(one.samples) * problem.outputs, dtype=torch.float64).diag() for one in problem.sets
    ]
    weights = [torch.zeros(len(own), 1, dtype=torch.float64) for own in stiff]
    order, unseen, diagonals, even, size = [], [], [], [], 0.0
    for frequency in frequencies(group):
        part = matrix_part(problem, frequency)
        order.append(frequency)
        even.append(torch.cat(part.even))
        if part.unseen_size is None:
            diagonals.append(torch.cat([own.diagonal() for own in part.precision]))
            for total, share in zip(stiff, part.precision, strict=True):
                total.add_(share)
        else:
            unseen.append(frequency)
            size = max(size, part.unseen_size)
            diagonals.append(even[-1])
        for total, share in zip(weights, part.weights or (), strict=False):
            total.add_(share)
    residuals = [
        _residual(problem, number, own, given, unseen, size, group)
        for number, (own, given) in enumerate(zip(stiff, weights, strict=True))
    ]
    return _result(problem, labels, residuals, order, unseen, diagonals, even, group)


def _residual(
    problem: TurnedBack,
    number: int,
    stiff: Float64[Tensor, "p p"],
    given: Float64[Tensor, "p 1"],
    unseen: list[Frequency],
    size: float,
    group: FiniteGroup,
) -> Float64[Tensor, "p 1"]:
    if not unseen:
        return torch.cholesky_solve(given, torch.linalg.cholesky(stiff))
    directions = unseen_directions(problem, unseen, problem.sets[number])
    limit, doubt = constrained_residual(stiff, given, *directions, size)
    check_certain(doubt, float(problem.labels.abs().max()), number, unseen, group, torch.float64)
    return limit


def _result(
    problem: TurnedBack,
    labels: Float64[Tensor, "m e c"],
    residuals: list[Float64[Tensor, "_ 1"]],
    order: list[Frequency],
    unseen: list[Frequency],
    diagonals: list[Float64[Tensor, "p"]],
    even: list[Float64[Tensor, "p"]],
    group: FiniteGroup,
) -> LeaveOut:
    sets, points = problem.sets, problem.points
    samples, elements = _where(sets)
    turn = problem.rho[elements]
    back = torch.cat(residuals).reshape(-1, problem.outputs)
    true = labels[samples, elements if labels.shape[1] > 1 else 0]
    residual, label = ((turn @ rows[..., None])[..., 0] for rows in (back, true))
    names = [f.name for f in unseen]
    solved = sum(bool((one == 0).all()) for one in residuals)
    return LeaveOut(
        residual,
        label - residual,
        label,
        torch.cat([torch.full((len(one.samples),), k) for k, one in enumerate(sets)]),
        samples,
        elements,
        irrep_shares(
            order, torch.stack(diagonals), torch.stack(even), torch.tensor([f.name in names for f in order])
        ),
        int((group.order // points.stabiliser_orders).sum()),
        explanation(names, solved, len(sets), len(order), group, points),
    )


def _where(sets: Sequence[MissingSet]) -> tuple[Int64[Tensor, "p"], Int64[Tensor, "p"]]:
    return torch.cat([one.samples for one in sets]), torch.cat([one.elements for one in sets])
