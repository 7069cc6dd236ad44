"""Simple Lie algebras: splitting a semisimple one into ideals, and names from dimension and Killing form.

The split uses the centroid, the matrices that commute with the adjoint representation (Rand, Winternitz and
Zassenhaus, Linear Algebra Appl. 109, 1988). The name uses Cartan's classification: the numbers of positive
and negative directions of the Killing form fix a classical real form, but for coincidences in low dimensions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb

import torch
from jaxtyping import Float
from torch import Tensor

SPLIT_LIMIT = 28  # largest dimension that is split into ideals: the centroid has its square as unknowns
TOLERANCE = 1e-7


def simple_ideals(constants: Float[Tensor, "d d d"]) -> list[str]:
    """Names of the simple ideals of a semisimple algebra, from its structure constants.

    A matrix that commutes with all `ad_i` is constant on every simple ideal (Schur's lemma); a random one has
    an eigenspace for each.
    """
    dimension = len(constants)
    if dimension == 0:
        return []
    if dimension > SPLIT_LIMIT:
        return [_simple_algebra_name(constants)]
    ad = constants.transpose(1, 2)  # ad_i as matrices on coordinates
    eye = torch.eye(dimension, dtype=constants.dtype)
    system = torch.cat([torch.kron(a.contiguous(), eye) - torch.kron(eye, a.T.contiguous()) for a in ad])
    gram = system.T @ system
    values, vectors = torch.linalg.eigh(gram)
    commutant = vectors[:, values < TOLERANCE * float(values[-1])]
    weights = torch.randn(
        commutant.shape[1], generator=torch.Generator().manual_seed(0), dtype=constants.dtype
    )
    element = (commutant @ weights).reshape(dimension, dimension)
    eigenvalues, right = torch.linalg.eig(element)
    names, left = [], list(range(dimension))
    while left:
        near = [k for k in left if _alike(eigenvalues[k], eigenvalues[left[0]])]
        left = [k for k in left if k not in near]
        space = torch.cat([right[:, near].real, right[:, near].imag], 1)
        basis, sizes, _ = torch.linalg.svd(space, full_matrices=False)
        part = basis[:, sizes > TOLERANCE * float(sizes[0])]
        names.append(_simple_algebra_name(torch.einsum("ia,jb,ijk,kc->abc", part, part, constants, part)))
    return sorted(names)


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether two eigenvalues are one, or each other's conjugates (a complex piece is one real ideal)."""
    scale = 1e-5 * (1 + float(b.abs()))
    return float((a - b).abs()) < scale or float((a - b.conj()).abs()) < scale


def _simple_algebra_name(constants: Tensor) -> str:
    killing = torch.einsum("iab,jba->ij", constants, constants)
    eigenvalues = torch.linalg.eigvalsh(killing)
    cut = TOLERANCE * float(eigenvalues.abs().max())
    return simple_name(int((eigenvalues > cut).sum()), int((eigenvalues < -cut).sum()))


def simple_name(positive: int, negative: int) -> str:
    """Simple real algebras with so many positive and negative directions of the Killing form.

    sl(k): `k(k+1)/2 - 1` and `k(k-1)/2`; so(p, q): `pq` and `(p(p-1) + q(q-1))/2`; sp(2k): `k(k+1)`, `k^2`.

    >>> simple_name(2, 1), simple_name(0, 3), simple_name(9, 6), simple_name(16, 12)
    ('sl(2)', 'so(3)', 'sl(4) = so(3,3)', 'so(4,4)')
    """
    seen = (positive, negative)
    names = [f"sl({k})" for k in range(2, 60) if (k * (k + 1) // 2 - 1, k * (k - 1) // 2) == seen]
    if names != ["sl(2)"]:
        for p in range(2, 60):
            for q in range(p + 1):
                fits = (p * q, comb(p, 2) + comb(q, 2)) == seen
                if fits and p + q > 2 and (p, q) != (2, 2) and (p, q) != (4, 0):
                    names.append(f"so({p},{q})" if q else f"so({p})")
        names += [f"sp({2 * k})" for k in range(3, 40) if (k * (k + 1), k * k) == seen]
    separator = " or " if any(name.startswith("sp") for name in names) else " = "
    return separator.join(names) or f"simple of dimension {positive + negative} ({positive}, {negative})"


def sum_name(pieces: Sequence[str], centre: int) -> str:
    """A sum of simple pieces and a centre; sl(k) with one dimension of centre is gl(k).

    >>> sum_name(["sl(2)", "sl(3)"], 3), sum_name([], 4), sum_name(["sl(2)", "sl(2)"], 0)
    ('gl(2) + gl(3) + R', 'R^4', '2 sl(2)')
    """
    named = []
    for piece in pieces:
        if piece.startswith("sl(") and centre > 0:
            piece, centre = "gl" + piece.split(" ")[0][2:], centre - 1
        named.append(piece)
    counted = [f"{count} {name}" if count > 1 else name for name, count in Counter(named).items()]
    if centre:
        counted.append("R" if centre == 1 else f"R^{centre}")
    return " + ".join(counted) or "0"
