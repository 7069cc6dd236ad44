"""Irreps of a group known only by its table, from the regular representation, numerically."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Complex128, Int64, Shaped
from torch import Tensor

from symscope.groups._characters import letters
from symscope.groups._finite_group import FiniteGroup
from symscope.groups._representation import Representation
from symscope.groups.constructions import from_matrices
from symscope.groups.subgroups import conjugacy_classes

ACCURACY = 1e-9  # an attempt whose irreps miss Schur orthogonality by more is thrown away
_GAP = 1e-7  # relative: eigenvalues nearer than this count as one
_DIRECT = 64  # elements whose matrices are taken from the regular representation; others are their products

Rounds = list[tuple[Int64[Tensor, "_"], Int64[Tensor, "_"], Int64[Tensor, "_"]]]


def split_regular(group: FiniteGroup, seed: int) -> tuple[Representation, ...] | None:
    """One attempt: eigenspaces of a random Hermitian element; None when they did not come out irreducible.

    >>> from symscope.groups import symmetric
    >>> split_regular(symmetric(3), seed=0)
    (1a of S3, 1b of S3, 2a of S3)
    """
    n = group.order
    generator = torch.Generator().manual_seed(seed)
    c = torch.randn(n, dtype=torch.complex128, generator=generator)
    c = c + c[group.inverses].conj()
    element = c[group.table[group.inverses]]  # A[h, k] = c(h^-1 k) commutes with left translations
    values, vectors = torch.linalg.eigh(element)
    cuts = (values.diff() > _GAP * float(values.abs().max())).nonzero()[:, 0] + 1
    spaces = torch.tensor_split(vectors, cuts.tolist(), dim=1)
    classes = conjugacy_classes(group)
    chosen = [spaces[i] for i in _different(group, spaces, classes, generator)]
    if sum(space.shape[1] ** 2 for space in chosen) != n:
        return None
    direct, rounds = _products(group)
    matrices = [_restricted(group, space, direct, rounds) for space in chosen]
    matrices.sort(key=lambda m: _place(m, classes))
    matrices = [_made_real(m, group) for m in matrices]
    if max(_schur_error(m) for m in matrices) > ACCURACY:
        return None
    return _named(group, matrices)


def _different(
    group: FiniteGroup,
    spaces: tuple[Tensor, ...],
    classes: tuple[Int64[Tensor, "_"], ...],
    generator: torch.Generator,
) -> list[int]:
    """The first space of each irrep: a random class function acts on all spaces of one by the same number."""
    function = torch.empty(group.order, dtype=torch.complex128)
    for members in classes:
        weight = torch.randn((), dtype=torch.complex128, generator=generator)
        function[members] = weight / len(members) ** 0.5
    first = torch.stack([space[:, 0] for space in spaces], dim=1)
    acted = function[group.table[:, group.inverses]] @ first  # Z[h, k] = f(h k^-1)
    numbers = torch.view_as_real((first.conj() * acted).sum(0))
    near = torch.cdist(numbers, numbers) < _GAP * float(numbers.abs().max())
    return [i for i, earliest in enumerate(near.int().argmax(1).tolist()) if i == earliest]


def _products(group: FiniteGroup) -> tuple[Int64[Tensor, "_"], Rounds]:
    """Elements to start from, and rounds `(new, left, right)`, new = left right, that reach all others.

    Each round takes all products of what is known, so the words double and rounding hardly adds up.
    """
    known = torch.tensor([group.identity, *group.generators]).unique()
    direct, rounds = known, []
    while len(known) < group.order:
        products = group.table[known][:, known].flatten().numpy()
        reached, where = np.unique(products, return_index=True)
        if len(reached) == len(known):
            break
        if len(reached) <= _DIRECT:
            direct = torch.from_numpy(reached)
        else:
            pairs = torch.from_numpy(where[~np.isin(reached, known.numpy())])
            left, right = known[pairs // len(known)], known[pairs % len(known)]
            rounds.append((group.table[left, right], left, right))
        known = torch.from_numpy(reached)
    return direct, rounds


def _restricted(
    group: FiniteGroup, space: Complex128[Tensor, "n d"], direct: Int64[Tensor, "_"], rounds: Rounds
) -> Complex128[Tensor, "n d d"]:
    """U^H L(g) U for every g; (L(g) u)(h) = u(g^-1 h)."""
    matrices = space.new_zeros(group.order, space.shape[1], space.shape[1])
    for g in direct.tolist():
        matrices[g] = space.mH @ space[group.table[group.inverses[g]]]
    for new, left, right in rounds:
        matrices[new] = matrices[left] @ matrices[right]
    return matrices


def _place(
    matrices: Complex128[Tensor, "n d d"], classes: tuple[Int64[Tensor, "_"], ...]
) -> tuple[int, list[tuple[float, float]]]:
    """Irreps are sorted by dimension, then by their characters, the largest first."""
    representatives = torch.stack([members[0] for members in classes])
    chi = torch.einsum("gii->g", matrices[representatives]).tolist()
    return matrices.shape[1], [(-round(z.real, 4) + 0.0, -round(z.imag, 4) + 0.0) for z in chi]


def _made_real(matrices: Complex128[Tensor, "n d d"], group: FiniteGroup) -> Shaped[Tensor, "n d d"]:
    """The same irrep in a real basis, where one exists (Frobenius-Schur indicator 1).

    C = mean_g rho(g) X rho(g)^T is a multiple of the symmetric unitary with rho C = C conj(rho); with the
    Takagi factorisation C = V V^T, V^H rho V is real.
    """
    chi = torch.einsum("gii->g", matrices)
    if float(chi[group.table.diagonal()].mean().real) < 0.5:
        return matrices
    d = matrices.shape[1]
    probe = torch.randn(d, d, dtype=torch.complex128, generator=torch.Generator().manual_seed(d))
    c = torch.einsum("gij,jk,glk->il", matrices, probe, matrices) / len(matrices)
    c = c / torch.linalg.matrix_norm(c, 2)
    _, rotation = torch.linalg.eigh(0.6 * c.real + 0.8 * c.imag)  # real and imaginary parts commute
    o = rotation.to(torch.complex128)
    phases = torch.einsum("ji,jk,ki->i", o, c, o)
    v = o * (phases / phases.abs()).sqrt()
    real = v.mH @ matrices @ v
    return real.real.contiguous() if float(real.imag.abs().max()) < ACCURACY else matrices


def _schur_error(matrices: Shaped[Tensor, "n d d"]) -> float:
    """How far `mean_g rho_ij(g) conj rho_kl(g)` is from `delta_ik delta_jl / d`."""
    n, d, _ = matrices.shape
    flat = matrices.reshape(n, d * d)
    gram = flat.mH @ flat / n
    return float((gram - torch.eye(d * d, dtype=gram.dtype) / d).abs().max())


def _named(group: FiniteGroup, matrices: list[Tensor]) -> tuple[Representation, ...]:
    seen: dict[int, int] = {}
    reps = []
    for m in matrices:
        dim = m.shape[1]
        seen[dim] = seen.get(dim, 0) + 1
        reps.append(from_matrices(group, m, name=f"{dim}{letters(seen[dim])}"))
    return tuple(reps)
