"""Irreps of continuous groups up to a band limit, and the transform of kernel profiles on them.

Circles and tori: `e^(-i k a)`, by an FFT over all angles. O(2): besides 1 and the determinant, the plane
`diag(e^(-i k a), e^(i k a))` for each frequency, exchanged by the flip. SO(3): Wigner's `D^l(a, b, c) = e^(-i
m a) d^l(b) e^(-i n c)`, by an FFT over a and c and a sum over the nodes in b (Kostelec and Rockmore, FFTs on
the Rotation Group, 2008). O(3) is SO(3) and -1, which multiplies each degree by 1 or -1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import final

import numpy as np
import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import CompactGroup, Quadrature, haar_quadrature, parse

ORTHOGONAL = 1e-9  # entries of g g^T - I
SPHERES = ("SO(3)", "O(3)")


@final
@dataclass(frozen=True, eq=False)
class BandIrrep:
    """An irrep of a continuous group, standing for its complex conjugate too if that is another one.

    Attributes:
        name: Its frequency or degree, and its parity.
        dim: Dimension d.
        multiplicity: How often each eigenvalue of its block occurs: d, or 2 for a conjugate pair of
            frequencies.
        matrices: `[q, n, n] -> [q, d, d]`, rho at elements of the group.
    """

    name: str
    dim: int
    multiplicity: int
    matrices: Callable[[Tensor], Tensor]

    def __repr__(self) -> str:
        return f"{self.name} (dimension {self.dim})"


def circles_of(group: CompactGroup) -> int:
    """Number of angles of SO(2) or a torus; 0 for other groups."""
    if group.name == "SO(2)":
        return 1
    return group.dimension if group.name == f"T{group.dimension}" else 0


def check_known(group: CompactGroup) -> None:
    """Refuses groups without a transform here.

    Raises:
        InputError: Says which groups have one.
    """
    known = isinstance(group, CompactGroup) and (circles_of(group) or group.name in ("O(2)", *SPHERES))
    if not known:
        name = getattr(group, "name", type(group).__name__)
        raise InputError(
            f"expected SO(2), O(2), SO(3), O(3) or a torus, got {name}; finite groups have "
            "spectral.leave_out_orbits."
        )


def check_elements(elements: Tensor, name: str) -> None:
    """Refuses what are no elements of a group of matrices.

    Raises:
        InputError: Another shape, or matrices that are not orthogonal.
    """
    group = parse(name)
    assert isinstance(group, CompactGroup)
    n, double = group.size, elements.dtype == torch.float64
    if not double or elements.ndim != 3 or elements.shape[1:] != (n, n):
        raise InputError(
            f"expected elements of {name}, float64 matrices [q, {n}, {n}], got {elements.dtype} of shape "
            f"{tuple(elements.shape)}."
        )
    off = (elements @ elements.mT - torch.eye(n, dtype=torch.float64)).abs()
    proper = not name.startswith("SO") or bool((torch.linalg.det(elements) > 0).all())
    if not bool((off < ORTHOGONAL).all()) or not proper:
        raise InputError(f"expected elements of {name}; some of these matrices are none.")


def nodes(group: CompactGroup, limit: int) -> Quadrature:
    """A rule for kernels of degree `2 L + 2` times irreps of degree L, ordered as `transformed` takes it."""
    degree = 3 * limit + 2
    if group.name != "O(3)":
        return haar_quadrature(group, degree)
    rotations = parse("SO(3)")
    assert isinstance(rotations, CompactGroup)
    turns = haar_quadrature(rotations, degree)  # and each of them after -1, which commutes with all
    return Quadrature(
        torch.cat([turns.elements, -turns.elements]), torch.cat([turns.weights, turns.weights]) / 2
    )


def band_irreps(group: CompactGroup, limit: int) -> tuple[BandIrrep, ...]:
    """Every irrep up to a frequency, or degree, one of each conjugate pair.

    >>> from symscope.groups.compact import o
    >>> [(one.name, one.dim) for one in band_irreps(o(2), 1)]
    [('frequency 0, even', 1), ('frequency 0, odd', 1), ('frequency 1', 2)]
    """
    if circles := circles_of(group):
        return tuple(
            BandIrrep(f"frequency {k[0] if circles == 1 else k}", 1, 2 if any(k) else 1, partial(_turns, k))
            for k in _half_frequencies(circles, limit)
        )
    if group.name == "O(2)":
        planes = (BandIrrep(f"frequency {k}", 2, 2, partial(_plane, k)) for k in range(1, limit + 1))
        ends = (("frequency 0, even", 1), ("frequency 0, odd", -1))
        return (*(BandIrrep(name, 1, 1, partial(_determinant, sign)) for name, sign in ends), *planes)
    parities = {"": 1} if group.name == "SO(3)" else {", even": 1, ", odd": -1}
    return tuple(
        BandIrrep(f"degree {l}{name}", 2 * l + 1, 2 * l + 1, partial(_wigner, l, sign))
        for l in range(limit + 1)  # noqa: E741
        for name, sign in parities.items()
    )


def transformed(
    profile: Float64[Tensor, "m m q"], group: CompactGroup, limit: int, weights: Float64[Tensor, "q"]
) -> tuple[Complex128[Tensor, "_ _"], ...]:
    """`K_hat_st(rho) = mean kappa_st(g) rho(g)` for every one of `band_irreps`, from values at `nodes`.

    Args:
        profile: `kappa_st(g)` at the nodes.
        group: The group.
        limit: Largest frequency, or degree.
        weights: Weights of the nodes.
    """
    if circles := circles_of(group):
        grid = profile.unflatten(2, (3 * limit + 3,) * circles)
        spectrum = torch.fft.fftn(grid, dim=tuple(range(2, 2 + circles)), norm="forward")
        return tuple(spectrum[(..., *k)] for k in _half_frequencies(circles, limit))
    if group.name == "O(2)":
        return _dihedral_blocks(profile, limit)
    if group.name == "SO(3)":
        return tuple(_sphere_blocks(profile, weights, limit))
    turned, inverted = profile.chunk(2, dim=2)
    half = weights.chunk(2)[0]  # each component counts one half
    pairs = (_sphere_blocks(turned + sign * inverted, half, limit) for sign in (1, -1))
    return tuple(block for both in zip(*pairs, strict=True) for block in both)


def _half_frequencies(circles: int, limit: int) -> list[tuple[int, ...]]:
    """Frequencies up to the limit, one of k and -k: the one whose first entry that is not 0 is positive."""
    every = product(range(-limit, limit + 1), repeat=circles)
    half = (k for k in every if next((one for one in k if one), 1) > 0)
    return sorted(half, key=lambda k: (max(map(abs, k)), k))


def _turns(k: tuple[int, ...], g: Float64[Tensor, "q n n"]) -> Complex128[Tensor, "q 1 1"]:
    first = 2 * torch.arange(len(k))
    angles = torch.atan2(g[:, first + 1, first], g[:, first, first])
    return torch.exp(-1j * (angles @ torch.tensor(k, dtype=torch.float64)))[:, None, None]


def _determinant(sign: int, g: Float64[Tensor, "q 2 2"]) -> Complex128[Tensor, "q 1 1"]:
    signs = torch.linalg.det(g).sign() if sign < 0 else torch.ones(len(g), dtype=torch.float64)
    return signs.to(torch.complex128)[:, None, None]


def _plane(k: int, g: Float64[Tensor, "q 2 2"]) -> Complex128[Tensor, "q 2 2"]:
    """A rotation, or one after the flip of the first axis, which exchanges both directions of turning."""
    sign = torch.linalg.det(g).sign()
    turn = torch.exp(-1j * k * torch.atan2(sign * g[:, 1, 0], sign * g[:, 0, 0]))
    rotation = torch.diag_embed(torch.stack([turn, turn.conj()], dim=1))
    return torch.where((sign > 0)[:, None, None], rotation, rotation.flip(2))


def _wigner(degree: int, parity: int, g: Float64[Tensor, "q 3 3"]) -> Complex128[Tensor, "q d d"]:
    sign = torch.linalg.det(g).sign()
    turn = sign[:, None, None] * g
    first = torch.atan2(turn[:, 1, 2], turn[:, 0, 2])
    c, s = first.cos(), first.sin()  # the others after it is undone, so that they make up for its rounding
    tilt = torch.atan2(c * turn[:, 0, 2] + s * turn[:, 1, 2], turn[:, 2, 2])
    last = torch.atan2(c * turn[:, 1, 0] - s * turn[:, 0, 0], c * turn[:, 1, 1] - s * turn[:, 0, 1])
    m = torch.arange(-degree, degree + 1, dtype=torch.float64)
    before, after = (torch.exp(-1j * angle[:, None] * m) for angle in (first, last))
    matrices = before[:, :, None] * _wigner_d(degree, tilt) * after[:, None, :]
    return torch.where((sign > 0)[:, None, None], matrices, parity * matrices)


def _dihedral_blocks(profile: Float64[Tensor, "m m q"], limit: int) -> tuple[Tensor, ...]:
    turned, flipped = (torch.fft.fft(part, dim=2, norm="forward") / 2 for part in profile.chunk(2, dim=2))
    planes = []
    for k in range(1, limit + 1):
        first, second = turned[..., k], flipped[..., k]
        rows = torch.stack(
            [torch.stack([first, second], -1), torch.stack([second.conj(), first.conj()], -1)], -2
        )
        planes.append(rows.permute(0, 2, 1, 3).flatten(2).flatten(0, 1))
    return (turned[..., 0] + flipped[..., 0], turned[..., 0] - flipped[..., 0], *planes)


def _sphere_blocks(
    profile: Float64[Tensor, "m m q"], weights: Float64[Tensor, "q"], limit: int
) -> list[Complex128[Tensor, "_ _"]]:
    m, turns = len(profile), 3 * limit + 3
    grid = profile.reshape(m, m, turns, -1, turns)
    spectrum = torch.fft.fft2(grid, dim=(2, 4), norm="forward")
    mass = weights.reshape(turns, -1, turns).sum((0, 2)).to(spectrum.dtype)
    tilts = torch.from_numpy(np.arccos(np.polynomial.legendre.leggauss(grid.shape[3])[0]))
    blocks = []
    for degree in range(limit + 1):
        at = torch.arange(-degree, degree + 1) % turns
        small = spectrum[:, :, at][..., at]  # [m, m, 2 l + 1, nodes, 2 l + 1]
        block = torch.einsum("b,bij,stibj->sitj", mass, _wigner_d(degree, tilts), small)
        blocks.append(block.reshape(m * len(at), m * len(at)))
    return blocks


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
