"""Kernels on whole orbits of SO(2) and SO(3): one block for each irrep, exact up to a band limit.

For specialists who want the spectrum of a continuous symmetry itself, not of a finite group that stands for
it. A kernel that is invariant under G is over orbits a convolution, `K[(s, g), (t, h)] = kappa_st(g^-1 h)`,
and the theorem of Peter and Weyl makes it block-diagonal: `K_hat(rho) = integral kappa(g) rho(g) dg`, each
eigenvalue of which occurs d times (Folland, A Course in Abstract Harmonic Analysis, ch. 5). The integral is a
sum over `groups.haar_quadrature`: blocks up to degree L are exact for kernels of degree up to 2 L + 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import final

import numpy as np
import torch
from jaxtyping import Complex128, Float64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import CompactGroup, haar_quadrature
from symscope.numerics import check_count, check_memory, checked

__all__ = ["OrbitBlocks", "orbit_blocks", "zonal_coefficients"]

PIECE = 4096  # transformed samples that the kernel is asked about at a time
KernelFunction = Callable[[Tensor, Tensor], Tensor]


@final
@dataclass(frozen=True, eq=False)
class OrbitBlocks:
    """A kernel on whole orbits, irrep by irrep; made by `orbit_blocks`.

    Attributes:
        group: Name of the group.
        band_limit: Largest frequency, or degree, L of a block.
        blocks: `blocks[l]` is `K_hat` of frequency, or degree, l: Hermitian, side `m d`.
        captured: Share of the mean square of the kernel over pairs of points that the blocks hold; 1 where
            the kernel has no frequencies, or degrees, beyond the band limit.
        samples: Number of orbits m.
    """

    group: str
    band_limit: int
    blocks: tuple[Complex128[Tensor, "k k"], ...]
    captured: float
    samples: int

    def __repr__(self) -> str:
        what = "degree" if self.group == "SO(3)" else "frequency"
        return (
            f"OrbitBlocks({self.samples} orbits of {self.group}, up to {what} {self.band_limit}: "
            f"{self.captured:.2%} of the kernel; exact for kernels up to {what} {2 * self.band_limit + 2})"
        )

    def multiplicity(self, index: int) -> int:
        """How often every eigenvalue of a block occurs: `2 l + 1` for SO(3); 2 or, for 0, once for SO(2)."""
        return 2 * index + 1 if self.group == "SO(3)" else min(index + 1, 2)

    def eigenvalues(self) -> list[Float64[Tensor, "k"]]:
        """The eigenvalues of the kernel's operator on the orbits, for each irrep, largest first.

        With respect to the mean over orbits and group; each of them `multiplicity` times.
        """
        return [torch.linalg.eigvalsh(block).flip(0) / self.samples for block in self.blocks]


@checked
def orbit_blocks(
    kernel: KernelFunction,
    samples: Shaped[Tensor, "m *shape"],
    group: CompactGroup,
    band_limit: int,
    act: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> OrbitBlocks:
    """The Peter-Weyl blocks of a kernel over the orbits of samples under SO(2) or SO(3).

    SO(2): `K_hat(k) = mean kappa(a) e^(-i k a)`. SO(3): Wigner's `D^l_mn(a, b, c) = e^(-i m a) d^l_mn(b)
    e^(-i n c)`, by an FFT over a and c and a sum over the nodes in b (Kostelec and Rockmore, FFTs on the
    Rotation Group, 2008). Exact for kernels of frequency, or degree, up to 2 L + 2.

    Args:
        kernel: `(x1 [a, *shape], x2 [b, *shape]) -> [a, b]`, invariant: `k(g x, g y) = k(x, y)`.
        samples: One sample of each orbit, float64.
        group: SO(2) or SO(3).
        band_limit: L, 0 or more: blocks of frequency, or degree, 0 to L.
        act: `(g [n, n], x [m, *shape]) -> g x`; turns the last axis of x, coordinates, when not given.

    Raises:
        InputError: Another group, samples that it does not turn, or a kernel that is not invariant.

    >>> from symscope.groups.compact import so
    >>> points = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
    >>> blocks = orbit_blocks(lambda x, y: (x @ y.T) ** 2, points, so(2), 2)
    >>> [round(float(one[0]), 6) + 0.0 for one in blocks.eigenvalues()], round(blocks.captured, 9)
    ([0.5, 0.0, 0.25], 1.0)
    """
    limit = check_count("band_limit", band_limit, 0)
    if group.name not in ("SO(2)", "SO(3)"):
        raise InputError(
            f"expected SO(2) or SO(3), got {group.name}; for others take a finite part, groups.finite_part."
        )
    if act is None and samples.shape[-1] != group.size:
        raise InputError(
            f"expected {group.size} coordinates in the last axis for {group.name} to turn, got samples of "
            f"shape {tuple(samples.shape[1:])}; say how it acts with act=."
        )
    rule = haar_quadrature(group, 3 * limit + 2)  # a kernel of degree 2 L + 2 times an irrep of degree L
    m, count = len(samples), len(rule.elements)
    check_memory(
        "the kernel over all orbits", 8 * m * m * count, "take fewer samples or a smaller band limit"
    )
    profile = _profile(kernel, samples.double(), rule.elements, act or _turned)
    _check_invariant(kernel, samples.double(), rule.elements[count // 3], act or _turned)
    blocks = (
        _circle_blocks(profile, limit) if group.size == 2 else _sphere_blocks(profile, rule.weights, limit)
    )
    result = OrbitBlocks(group.name, limit, blocks, 1.0, m)
    held = sum(result.multiplicity(l) * float(b.abs().square().sum()) for l, b in enumerate(blocks))  # noqa: E741
    whole = float(rule.average(profile.square().movedim(2, 0)).sum())
    return replace(result, captured=held / max(whole, 1e-300))


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
    limit = check_count("band_limit", band_limit, 0)
    places, weights = np.polynomial.legendre.leggauss(check_count("nodes", nodes or limit + 1, limit + 1))
    polynomials = torch.from_numpy(np.polynomial.legendre.legvander(places, limit))
    values = function(torch.from_numpy(places)) * torch.from_numpy(weights)
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
        parts.append(kernel(x, moved).double().reshape(len(x), len(x), len(some)))
    return torch.cat(parts, dim=2)


def _check_invariant(
    kernel: KernelFunction, x: Tensor, g: Tensor, act: Callable[[Tensor, Tensor], Tensor]
) -> None:
    before, moved = kernel(x, x), act(g, x)
    error = float((kernel(moved, moved) - before).norm() / before.norm())
    if error > 1e-6:
        raise InputError(
            f"expected a kernel that is invariant, k(g x, g y) = k(x, y); it changes by {error:.1%}. Take "
            "one that is, or the mean over the group."
        )


def _circle_blocks(profile: Float64[Tensor, "m m q"], limit: int) -> tuple[Tensor, ...]:
    return tuple(torch.fft.fft(profile, dim=2, norm="forward")[..., : limit + 1].unbind(2))


def _sphere_blocks(
    profile: Float64[Tensor, "m m q"], weights: Float64[Tensor, "q"], limit: int
) -> tuple[Tensor, ...]:
    """By an FFT over both angles about z, and Wigner's d at the nodes between."""
    m, turns = len(profile), 3 * limit + 3
    grid = profile.reshape(m, m, turns, -1, turns)
    spectrum = torch.fft.fft2(grid, dim=(2, 4), norm="forward")
    mass = weights.reshape(turns, -1, turns).sum((0, 2)).to(spectrum.dtype)
    nodes = np.polynomial.legendre.leggauss(grid.shape[3])[0]
    tilts = torch.from_numpy(np.arccos(nodes))
    blocks = []
    for degree in range(limit + 1):
        at = torch.arange(-degree, degree + 1) % turns
        small = spectrum[:, :, at][..., at]  # [m, m, 2 l + 1, nodes, 2 l + 1]
        block = torch.einsum("b,bij,stibj->sitj", mass, _wigner_d(degree, tilts), small)
        blocks.append(block.reshape(m * len(at), m * len(at)))
    return tuple(blocks)


def _wigner_d(degree: int, angles: Float64[Tensor, "b"]) -> Complex128[Tensor, "b d d"]:
    """`d^l(b) = exp(-i b J_y)`, by the eigenvectors of J_y, whose eigenvalues are -l .. l."""
    vectors = _tilt_axes(degree)
    m = torch.arange(-degree, degree + 1, dtype=torch.float64)
    turning = torch.exp(-1j * angles[:, None] * m)
    return torch.einsum("ik,bk,jk->bij", vectors, turning, vectors.conj())


@cache
def _tilt_axes(degree: int) -> Complex128[Tensor, "d d"]:
    m = torch.arange(-degree, degree, dtype=torch.float64)
    raising = torch.diag((degree * (degree + 1) - m * (m + 1)).sqrt(), -1).to(torch.complex128)
    return torch.linalg.eigh((raising - raising.mH) / 2j).eigenvectors
