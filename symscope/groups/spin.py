"""Irreducible representations of SO(2), SO(3) and O(3), by exponentials of their Lie algebras."""

from __future__ import annotations

from functools import cache, partial

import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._representation import Representation
from symscope.groups.compact import CompactGroup, o, so
from symscope.groups.constructions import trivial
from symscope.numerics import check_count, explained

__all__ = ["frequency", "spin"]

LARGEST_FREQUENCY = 500  # a spin of this degree has matrices of side 1,001


@explained
def frequency(k: int) -> Representation:
    """The real irrep of SO(2) of frequency k >= 1: the plane turned k times as fast; k = 0 is trivial.

    >>> eighth = so(2).exponential(torch.tensor([torch.pi / 4], dtype=torch.float64))
    >>> frequency(2)(eighth).round(decimals=6) + 0.0
    tensor([[ 0., -1.],
            [ 1.,  0.]], dtype=torch.float64)
    """
    k = check_count("k", k, 0, LARGEST_FREQUENCY)
    if k == 0:
        return trivial(so(2))
    return Representation(
        so(2), 2, f"frequency {k}", partial(_turn, k), True, None, partial(_scaled, float(k))
    )


@explained
def spin(degree: int, parity: int | None = None) -> Representation:
    """The real irrep of SO(3) of degree l, dimension 2l + 1; with a parity of +1 or -1, of O(3).

    The basis diagonalises nothing in particular: it is real and orthonormal, fixed by the ladder operators.

    Args:
        degree: l >= 0.
        parity: What -1 in O(3) does: multiply by this sign. None for SO(3).

    >>> spin(2).dim, spin(1, parity=-1).group.name
    (5, 'O(3)')
    """
    degree = check_count("degree", degree, 0, LARGEST_FREQUENCY)
    if parity not in (None, 1, -1):
        raise InputError(f"expected a parity of +1 or -1, or None for SO(3), got {parity}.")
    group: CompactGroup = so(3) if parity is None else o(3)
    sign = "" if parity is None else {1: "e", -1: "o"}[parity]
    derivative = partial(_algebra_matrix_action, degree)
    return Representation(
        group,
        2 * degree + 1,
        f"spin {degree}{sign}",
        partial(_rotate, degree, parity or 1),
        True,
        None,
        derivative,
    )


def _turn(k: int, g: Tensor, x: Tensor) -> Tensor:
    return x @ torch.linalg.matrix_power(g, k).T.to(dtype=x.dtype, device=x.device)


def _scaled(k: float, h: Tensor, x: Tensor) -> Tensor:
    return k * (x @ h.T.to(dtype=x.dtype, device=x.device))


def _rotate(degree: int, parity: int, g: Tensor, x: Tensor) -> Tensor:
    sign = float(torch.linalg.det(g).sign())
    vector = torch.from_numpy(Rotation.from_matrix((sign * g).numpy()).as_rotvec())
    matrix = torch.linalg.matrix_exp(torch.einsum("i,ijk->jk", vector, _angular_momentum(degree)))
    if sign < 0:
        matrix = parity * matrix
    return x @ matrix.T.to(dtype=x.dtype, device=x.device)


def _algebra_matrix_action(degree: int, h: Tensor, x: Tensor) -> Tensor:
    """h antisymmetric 3x3 is the cross product with (h32, h13, h21)."""
    vector = torch.stack([h[2, 1], h[0, 2], h[1, 0]])
    matrix = torch.einsum("i,ijk->jk", vector, _angular_momentum(degree))
    return x @ matrix.T.to(dtype=x.dtype, device=x.device)


@cache
def _angular_momentum(degree: int) -> Float[Tensor, "3 d d"]:
    """Real antisymmetric L_x, L_y, L_z with [L_x, L_y] = L_z and cyclic, from the ladder operators.

    The complex matrices -i J act on |m>; the unitary that makes them real mixes |m> and |-m>.
    """
    m = torch.arange(-degree, degree + 1, dtype=torch.float64)
    raising = torch.diag((degree * (degree + 1) - m[:-1] * (m[:-1] + 1)).sqrt(), -1).to(torch.complex128)
    jx, jy = (raising + raising.mH) / 2, (raising - raising.mH) / 2j
    jz = torch.diag(m).to(torch.complex128)
    change = torch.zeros(2 * degree + 1, 2 * degree + 1, dtype=torch.complex128)
    change[degree, degree] = 1
    for k in range(1, degree + 1):
        sign, half = (-1) ** k, 0.5**0.5
        change[degree + k, degree + k], change[degree + k, degree - k] = sign * half, half
        change[degree - k, degree - k], change[degree - k, degree + k] = 1j * half, -1j * sign * half
    real = torch.stack([change @ (-1j * j) @ change.mH for j in (jx, jy, jz)])
    assert float(real.imag.abs().max()) < 1e-12, "the change of basis must make the generators real"
    return real.real.contiguous()
