"""Kernels on whole orbits of SO(2), O(2), SO(3), O(3) and tori: one block for each irrep, up to a band limit.

For specialists who want the spectrum of a continuous symmetry itself, not of a finite group that stands for
it. A kernel that is invariant under G is over orbits a convolution, `K[(s, g), (t, h)] = kappa_st(g^-1 h)`,
and the theorem of Peter and Weyl makes it block-diagonal: `K_hat(rho) = integral kappa(g) rho(g) dg`, each
eigenvalue of which occurs d times (Folland, A Course in Abstract Harmonic Analysis, ch. 5). The integral is a
sum over nodes: blocks up to degree L are exact for kernels of degree up to 2 L + 2.

Three ways to a continuous group, and what each is exact for; for kernels of degree L they agree:

- `groups.haar_quadrature` averages functions of degree up to its band limit; no group, so nothing is
  block-diagonal;
- `groups.finite_part`, a finite subgroup, exact on its own points; blocks of C_n, D_n and products are n (2
  n) times those here where `n > 2 L`; those of the icosahedral group for L = 2, beyond which its irreps mix
  degrees;
- `orbit_blocks`, for whole orbits. `leave_out_range` leaves parts of them out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Complex128, Float, Float64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import CompactGroup, Quadrature, Representation, parse
from symscope.numerics import check_count, check_finite, check_memory, check_ridge, checked
from symscope.spectral._kernel_entries import entries
from symscope.spectral._peter_weyl import (
    SPHERES,
    BandIrrep,
    band_irreps,
    check_elements,
    check_known,
    nodes,
    transformed,
)

__all__ = ["BandIrrep", "OrbitBlocks", "arc", "leave_out_range", "orbit_blocks", "zonal_coefficients"]

MOST_NODES = 4096  # of one angle
PIECE = 4096  # transformed samples that the kernel is asked about at a time
KernelFunction = Callable[[Tensor, Tensor], Tensor]


@checked
@final
@dataclass(frozen=True, eq=False)
class OrbitBlocks:
    """A kernel on whole orbits, irrep by irrep; made by `orbit_blocks`.

    Attributes:
        group: Name of the group.
        band_limit: Largest frequency, or degree, L of a block.
        irreps: The irreps, trivial one first, then by frequency, or degree; one of each conjugate pair.
        blocks: `K_hat` of each of them: Hermitian, side `m d`.
        captured: Share of the mean square of the kernel over pairs of points that the blocks hold; 1 where
            the kernel has no frequencies, or degrees, beyond the band limit.
        samples: Number of orbits m.
    """

    group: str
    band_limit: int
    irreps: tuple[BandIrrep, ...]
    blocks: tuple[Complex128[Tensor, "_ _"], ...]
    captured: float
    samples: int

    def __repr__(self) -> str:
        what = "degree" if self.group in SPHERES else "frequency"
        return (
            f"OrbitBlocks({self.samples} orbits of {self.group}, up to {what} {self.band_limit}: "
            f"{self.captured:.2%} of the kernel; exact for kernels up to {what} {2 * self.band_limit + 2})"
        )

    def multiplicity(self, index: int) -> int:
        """How often every eigenvalue of a block occurs: d; 2 for a conjugate pair of frequencies."""
        return self.irreps[index].multiplicity

    def eigenvalues(self) -> list[Float64[Tensor, "k"]]:
        """The eigenvalues of the kernel's operator on the orbits, for each irrep, largest first.

        With respect to the mean over orbits and group; each of them `multiplicity` times.
        """
        return [torch.linalg.eigvalsh(block).flip(0) / self.samples for block in self.blocks]

    def profile(self, elements: Float64[Tensor, "q n n"]) -> Float64[Tensor, "m m q"]:
        """`kappa_st(g) = k(x_s, g x_t)` at any elements, from the blocks: `sum_rho d tr(K_hat_st rho(g)^H)`.

        Over the elements of a finite subgroup it is the profile that `leave_out` takes.

        Raises:
            InputError: Not orthogonal matrices of the group's size.

        >>> from symscope.groups.compact import so
        >>> point = torch.tensor([[2.0, 0.0]], dtype=torch.float64)
        >>> quarter = torch.tensor([[[0.0, -1.0], [1.0, 0.0]]], dtype=torch.float64)
        >>> blocks = orbit_blocks(lambda x, y: 1 + x @ y.T, point, so(2), 1)
        >>> blocks.profile(torch.cat([quarter @ quarter.mT, quarter])).round(decimals=9).flatten().tolist()
        [5.0, 1.0]
        """
        check_elements(elements, self.group)
        total = torch.zeros(self.samples, self.samples, len(elements), dtype=torch.float64)
        for irrep, block in zip(self.irreps, self.blocks, strict=True):
            cells = block.unflatten(1, (-1, irrep.dim)).unflatten(0, (-1, irrep.dim))
            rho = irrep.matrices(elements).conj()
            total += irrep.multiplicity * torch.einsum("sitj,qij->stq", cells, rho).real
        return total


@checked
def orbit_blocks(
    kernel: KernelFunction,
    samples: Shaped[Tensor, "m *shape"],
    group: CompactGroup,
    band_limit: int,
    act: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> OrbitBlocks:
    """The Peter-Weyl blocks of a kernel over the orbits of samples under a continuous group.

    `K_hat_st(rho) = integral k(x_s, g x_t) rho(g) dg`. Exact for kernels of frequency, or degree, up to 2 L +
    2; for tori, in each angle.

    Args:
        kernel: `(x1 [a, *shape], x2 [b, *shape]) -> [a, b]`, invariant: `k(g x, g y) = k(x, y)`.
        samples: One sample of each orbit, float64.
        group: SO(2), O(2), SO(3), O(3) or a torus.
        band_limit: L, 0 or more: blocks of frequency, or degree, 0 to L.
        act: `(g [n, n], x [m, *shape]) -> g x`; turns the last axis of x, coordinates, when not given.

    Raises:
        InputError: Another group, samples that it does not turn or that are not finite, or a kernel that is
            not invariant.

    >>> from symscope.groups.compact import so
    >>> points = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
    >>> blocks = orbit_blocks(lambda x, y: (x @ y.T) ** 2, points, so(2), 2)
    >>> [round(float(one[0]), 6) + 0.0 for one in blocks.eigenvalues()], round(blocks.captured, 9)
    ([0.5, 0.0, 0.25], 1.0)
    """
    limit = check_count("band_limit", band_limit, 0)
    check_known(group)
    if samples.ndim < 2 or 0 in samples.shape:
        raise InputError(
            f"expected samples [m, *shape], one or more and none empty, got {tuple(samples.shape)}."
        )
    if act is None and samples.shape[-1] != group.size:
        raise InputError(
            f"expected {group.size} coordinates in the last axis for {group.name} to turn, got samples of "
            f"shape {tuple(samples.shape[1:])}; say how it acts with act=."
        )
    check_finite("the samples", samples)
    rule = nodes(group, limit)
    x, m, count, move = samples.double(), len(samples), len(rule.elements), act or _turned
    check_memory(
        "the kernel over all orbits", 8 * m * m * count, "take fewer samples or a smaller band limit"
    )
    profile = _profile(kernel, x, rule.elements, move)
    _check_invariant(kernel, x, rule.elements[count // 3], move)
    if len(group.generators):
        _check_invariant(kernel, x, group.generators[0], move)
    irreps, blocks = band_irreps(group, limit), transformed(profile, group, limit, rule.weights)
    held = sum(
        one.multiplicity * float(b.abs().square().sum()) for one, b in zip(irreps, blocks, strict=True)
    )
    whole = float(rule.average(profile.square().movedim(2, 0)).sum())
    return OrbitBlocks(group.name, limit, irreps, blocks, held / max(whole, 1e-300), m)


@checked
def leave_out_range(
    blocks: OrbitBlocks,
    labels: Float[Tensor, "m *c"],
    rule: Quadrature,
    missing: Bool[Tensor, "m q"],
    ridge: float,
    targets: Representation | None = None,
) -> Float64[Tensor, "m q *c"]:
    """What ridge regression on whole orbits, less a range of elements, predicts at elements, seen or missing.

    The minimiser of `mean |f - y|^2 + ridge |f|^2`, where the mean over orbits and group leaves out what is
    missing. With `H = K (K + ridge)^-1`, which has the same blocks as K, its residual on the missing part M
    is `r = (I - H_MM)^-1 (y - H y)_M`, and elsewhere `f = H y - H_M r`. Exact for kernels within the band
    limit L of the blocks and a rule that integrates products of degree 2 L over the missing elements: a part
    of the nodes of a `haar_quadrature(group, 2 L)` (which is then ridge regression on these nodes), or to
    rounding an `arc` of enough nodes. For the elements of a finite subgroup with `ridge m |G|` it is
    `leave_out`.

    Args:
        blocks: The kernel on whole orbits.
        labels: One number or vector for each orbit.
        rule: Elements, with the share of the group that each stands for.
        missing: Which of them are left out of which orbit.
        ridge: Positive number, relative to a mean over points; there is no default.
        targets: How labels `[m, c]` turn with the sample, `y(g x) = rho(g) y(x)`: a real representation of
            the group of degree up to 2 L + 2, such as `defining(so(3))`; None where they do not change.

    Raises:
        InputError: Shapes that do not fit, a representation of another group, a ridge that is not positive,
            labels that are not finite, or weights that count some part of the group twice.

    >>> from symscope.groups.compact import so
    >>> points = torch.tensor([[1.0, 0.0], [0.5, 0.0]], dtype=torch.float64)
    >>> blocks = orbit_blocks(lambda x, y: (1 + x @ y.T) ** 2, points, so(2), 2)
    >>> third, labels = arc(-60.0, 60.0, nodes=12), torch.tensor([1.0, -1.0], dtype=torch.float64)
    >>> missing = torch.tensor([[True], [False]]).expand(2, 12)
    >>> leave_out_range(blocks, labels, third, missing, 1e-3)[0, :6:5].round(decimals=2)
    tensor([0.9400, 0.8800], dtype=torch.float64)
    """
    check_ridge(ridge)
    m, q = blocks.samples, len(rule.elements)
    if ridge == 0:
        raise InputError(
            "ridge: expected a positive number: on a continuum of points no kernel is regular without."
        )
    if len(labels) != m or missing.shape != (m, q):
        raise InputError(
            f"expected labels for {m} orbits and a mask [{m}, {q}] for the rule's elements, got "
            f"{tuple(labels.shape)} and {tuple(missing.shape)}."
        )
    check_finite("labels", labels)
    if not bool((rule.weights > 0).all()) or float(rule.weights.sum()) > 1 + 1e-9:
        raise InputError("rule: expected positive weights, of at most the whole group, 1.")
    check_elements(rule.elements, blocks.group)
    check_memory("the missing points", 3 * 8 * (m * q) ** 2, "take fewer elements or samples")
    smoother, inner_blocks = _smoother(blocks, rule.elements, ridge)
    if targets is None:
        y = labels.double().reshape(m, -1)
        everywhere = (inner_blocks[0].real @ y).repeat_interleave(q, 0)
        y = y.repeat_interleave(q, 0)
    else:
        y, everywhere = _turning_labels(blocks, inner_blocks, labels.double(), targets, rule.elements)
    gone = missing.flatten().nonzero()[:, 0]
    mass = rule.weights.repeat(m)[gone].sqrt()
    inner = torch.eye(len(gone), dtype=torch.float64) - mass[:, None] * smoother[gone][:, gone] * mass
    factor, failed = torch.linalg.cholesky_ex(inner)
    if bool(failed):
        raise InputError("rule: its weights count some part of the group twice, or its elements are too few.")
    away = y[gone] - everywhere[gone]
    residual = mass[:, None] * torch.cholesky_solve(mass[:, None] * away, factor)
    return (everywhere - smoother[:, gone] @ residual).reshape(m, q, *labels.shape[1:])


@checked
def arc(low: float, high: float, nodes: int) -> Quadrature:
    """Rotations of the plane from one angle to another, in degrees, by Gauss and Legendre's nodes.

    The weights add up to the share of the circle.

    Args:
        low: First angle.
        high: Last angle, at most 360 degrees more.
        nodes: Number of nodes; the error for frequency L falls exponentially from about `L (high - low) /
            360` times pi on.

    Raises:
        InputError: No angle between them, or more than a full turn.

    >>> float(arc(-30.0, 30.0, nodes=3).weights.sum().round(decimals=9))
    0.166666667
    """
    if not 0 < high - low <= 360:
        raise InputError(f"expected angles low < high, at most 360 degrees apart, got {low:g} and {high:g}.")
    places, weights = np.polynomial.legendre.leggauss(check_count("nodes", nodes, 1, MOST_NODES))
    angles = torch.from_numpy(np.radians((low + high + (high - low) * places) / 2))
    c, s = angles.cos(), angles.sin()
    elements = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    return Quadrature(elements, torch.from_numpy(weights) * (math.radians(high - low) / (4 * math.pi)))


def _smoother(
    blocks: OrbitBlocks, elements: Float64[Tensor, "q n n"], ridge: float
) -> tuple[Float64[Tensor, "p p"], list[Complex128[Tensor, "_ _"]]]:
    """`H = K (K + ridge)^-1` between points (s, g), and its blocks."""
    m, q = blocks.samples, len(elements)
    total, every = torch.zeros(m, q, m, q, dtype=torch.float64), []
    for irrep, block in zip(blocks.irreps, blocks.blocks, strict=True):
        values, vectors = torch.linalg.eigh((block + block.mH) / (2 * m))
        values = values.clamp(min=0)  # a kernel has none below but by rounding
        smoothed = (vectors * (values / (values + ridge))) @ vectors.mH
        every.append(smoothed)
        rho = irrep.matrices(elements)
        cells = smoothed.unflatten(1, (m, irrep.dim)).unflatten(0, (m, irrep.dim))
        left = torch.einsum("gab,sbtc->sgatc", rho, cells)  # tr(rho(g) H_st rho(h)^H)
        total += irrep.multiplicity * torch.einsum("sgatc,hac->sgth", left, rho.conj()).real
    return total.reshape(m * q, m * q), every


def _turning_labels(
    blocks: OrbitBlocks,
    smoothed: list[Complex128[Tensor, "_ _"]],
    labels: Float64[Tensor, "m c"],
    targets: Representation,
    elements: Float64[Tensor, "q n n"],
) -> tuple[Float64[Tensor, "p c"], Float64[Tensor, "p c"]]:
    """`y(s, g) = rho(g) y_s` and `H y` at elements.

    `(H y)(s, g) = sum d tr(sigma(g) H_st Y_t)` with `Y_t = mean sigma(h)^H y(t, h)`.
    """
    group = parse(blocks.group)
    if targets.group != group or labels.ndim != 2 or labels.shape[1] != targets.dim:
        raise InputError(
            f"targets: expected a representation of {blocks.group} on labels [{blocks.samples}, "
            f"{targets.dim}], got {targets!r} and {tuple(labels.shape)}."
        )
    assert isinstance(group, CompactGroup)
    rule = nodes(group, blocks.band_limit)
    there, here = (torch.stack([targets(g) for g in some]) for some in (rule.elements, elements))
    if there.is_complex():
        raise InputError(f"targets: expected a real representation, {targets!r} is complex.")
    turned = torch.einsum("qij,mj->mqi", here, labels)
    total = torch.zeros_like(turned)
    for irrep, block in zip(blocks.irreps, smoothed, strict=True):
        sigma = irrep.matrices(rule.elements)
        mean = torch.einsum(
            "q,qba,qij->abij", rule.weights.to(sigma.dtype), sigma.conj(), there.to(sigma.dtype)
        )
        parts = torch.einsum("abij,tj->tabi", mean, labels.to(sigma.dtype)).flatten(0, 1)  # rows (t, a)
        solved = torch.einsum("kr,rbi->kbi", block, parts).unflatten(0, (-1, irrep.dim))
        total += irrep.multiplicity * torch.einsum("gba,sabi->sgi", irrep.matrices(elements), solved).real
    return turned.flatten(0, 1), total.flatten(0, 1)


@checked
def zonal_coefficients(
    function: Callable[[Tensor], Tensor], band_limit: int, nodes: int | None = None
) -> Float64[Tensor, "l"]:
    """Eigenvalues of a kernel `k(x, y) = f(x . y)` on the sphere, by degree: Funk and Hecke's formula.

    `a_l = 1/2 integral f(t) P_l(t) dt`, so that `f(t) = sum (2 l + 1) a_l P_l(t)`; each a_l occurs `2 l + 1`
    times.

    Args:
        function: f, of cosines from -1 to 1.
        band_limit: L, the largest degree.
        nodes: Gauss-Legendre nodes n: exact for polynomials f of degree up to `2 n - 1 - L`; by default
            `L + 1`, exact up to degree L.

    Raises:
        InputError: Fewer nodes than degrees.

    >>> zonal_coefficients(lambda t: t**2, 2).round(decimals=12).tolist()  # 1/3 P_0 + 2/3 P_2
    [0.333333333333, 0.0, 0.133333333333]
    """
    limit = check_count("band_limit", band_limit, 0, MOST_NODES - 1)
    places, weights = np.polynomial.legendre.leggauss(
        check_count("nodes", nodes or limit + 1, limit + 1, MOST_NODES)
    )
    polynomials = torch.from_numpy(np.polynomial.legendre.legvander(places, limit))
    values = function(torch.from_numpy(places))
    if not isinstance(values, Tensor) or values.shape != places.shape or values.is_complex():
        got = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise InputError(f"function: expected a real number for each of {len(places)} cosines, got {got}.")
    values = values * torch.from_numpy(weights)
    result = values @ polynomials / 2
    return torch.where(result.abs() < 1e-15 * values.abs().sum(), 0.0, result)


def _turned(g: Tensor, x: Tensor) -> Tensor:
    return x @ g.T.to(x.dtype)


def _profile(
    kernel: KernelFunction, x: Tensor, elements: Tensor, act: Callable[[Tensor, Tensor], Tensor]
) -> Float64[Tensor, "m m q"]:
    """`kappa_st(g) = k(x_s, g x_t)` at every element."""
    parts = []
    for some in elements.split(max(1, PIECE // len(x))):
        moved = torch.stack([act(g, x) for g in some], dim=1).flatten(0, 1)
        parts.append(entries(kernel, x, moved).double().reshape(len(x), len(x), len(some)))
    return torch.cat(parts, dim=2)


def _check_invariant(
    kernel: KernelFunction, x: Tensor, g: Tensor, act: Callable[[Tensor, Tensor], Tensor]
) -> None:
    before, moved = entries(kernel, x, x), act(g, x)
    check_finite("the kernel's entries", before)
    if not bool(before.any()):
        raise InputError("kernel: expected one that is not 0 on the samples, got 0 for every pair.")
    error = float((entries(kernel, moved, moved) - before).norm() / before.norm())
    if not error <= 1e-6:
        raise InputError(
            f"expected a kernel that is invariant, k(g x, g y) = k(x, y); it changes by {error:.1%}. Take "
            "one that is, or the mean over the group."
        )
