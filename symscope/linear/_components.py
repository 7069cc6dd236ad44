"""The feature space cut along the irreps of a group; `K_G` never mixes the pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import (
    CompactGroup,
    FiniteGroup,
    Representation,
    character,
    irreps,
    isotypic_projector,
    multiplicities,
)

SAME_CASIMIR = (
    1e-6  # Casimir values are integers or halves in the usual scale; this is relative to the largest
)


@final
@dataclass(frozen=True, eq=False)
class IsotypicComponent:
    """All copies of one irrep in a representation; of two, where they are complex conjugates of each other.

    Attributes:
        irrep: Name of the irrep; both names for a conjugate pair.
        repeats: How often each decay rate on it occurs: its dimension, twice that for a pair.
        basis: Orthonormal columns that span it.
        invariant: Whether nothing moves on it.
        index: Index of the irrep in `groups.irreps(group)`; None for compact groups.
    """

    irrep: str
    repeats: int
    basis: Float[Tensor, "d k"]
    invariant: bool
    index: int | None

    @property
    def dimension(self) -> int:
        """Dimension of the whole component."""
        return self.basis.shape[1]


def isotypic_components(rep: Representation) -> tuple[IsotypicComponent, ...]:
    """The isotypic components of a real orthogonal representation, those that occur, in the order of irreps.

    Finite groups: by characters. Compact groups: eigenspaces of the Casimir operator, `-sum_h d rho(h)^2`,
    which tells the irreps of SO(2) and SO(3) apart, and takes together those of other groups on which it has
    one value.

    Args:
        rep: Representation of a listed finite group, or of a compact group.

    Raises:
        InputError: Not orthogonal, complex, or of a group whose elements are not listed.

    >>> from symscope.groups import permutation, symmetric
    >>> [(c.repeats, c.dimension) for c in isotypic_components(permutation(symmetric(4)))]
    [(1, 1), (3, 3)]
    """
    if not rep.unitary:
        raise InputError(
            f"expected an orthogonal representation, for which components are perpendicular; {rep!r} is not: "
            "change its basis with groups.unitary_form."
        )
    if isinstance(rep.group, CompactGroup):
        return _casimir_components(rep)
    if not isinstance(rep.group, FiniteGroup):
        raise InputError(
            f"expected a listed finite group or a compact one; the elements of {rep.group.name} are not "
            "listed: extreme_rates needs no irreps."
        )
    return _character_components(rep, rep.group)


def _character_components(rep: Representation, group: FiniteGroup) -> tuple[IsotypicComponent, ...]:
    result = []
    done: set[int] = set()
    every = irreps(group)
    characters = torch.stack([character(rho) for rho in every])
    for i, count in enumerate(multiplicities(rep).tolist()):
        if i in done or count == 0:
            continue
        partner = int((characters - characters[i].conj()).abs().sum(1).argmin())
        done.update((i, partner))
        projector = isotypic_projector(rep, i)
        real = projector.real if partner == i else 2 * projector.real
        if partner == i and float(projector.imag.abs().max()) > 1e-8:
            raise InputError(f"expected a real representation, {rep!r} is complex.")
        values, vectors = torch.linalg.eigh((real + real.mT) / 2)
        name = every[i].name if partner == i else f"{every[i].name}, {every[partner].name}"
        repeats = every[i].dim * (1 if partner == i else 2)
        result.append(IsotypicComponent(name, repeats, vectors[:, values > 0.5], i == 0, i))
    return tuple(result)


def _casimir_components(rep: Representation) -> tuple[IsotypicComponent, ...]:
    group = rep.group
    assert isinstance(group, CompactGroup)
    eye = torch.eye(rep.dim, dtype=torch.float64)
    casimir = torch.zeros_like(eye)
    for h in group.lie_algebra:
        casimir = casimir - rep.act_algebra(h, rep.act_algebra(h, eye)).mT
    values, vectors = torch.linalg.eigh((casimir + casimir.mT) / 2)
    gaps = values.diff() > SAME_CASIMIR * max(1.0, float(values[-1]))
    pieces = torch.tensor_split(torch.arange(len(values)), (gaps.nonzero()[:, 0] + 1).tolist())
    result = []
    for piece in pieces:
        basis, value = vectors[:, piece], float(values[piece].mean())
        # on the piece where no infinitesimal element moves anything, a discrete generator still may
        still = abs(value) < SAME_CASIMIR and all(
            float((rep.act(g, basis.mT) - basis.mT).abs().max()) < 1e-8 for g in group.generators
        )
        result.append(IsotypicComponent(f"Casimir {round(value, 6) + 0.0:g}", 1, basis, still, None))
    return tuple(result)
