"""The frequencies of a group that a real profile needs: every irrep, of conjugate pairs only one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

from jaxtyping import Shaped
from torch import Tensor

from symscope.groups import FiniteGroup, Representation, check_finite_group, conjugate_indices, irreps


@final
@dataclass(frozen=True, eq=False)
class Frequency:
    """One irrep, standing for its complex conjugate too if that is another one.

    Attributes:
        index: Its position in `groups.irreps(group)`.
        irrep: The irrep itself.
        copies: 2 if it stands for a conjugate pair, otherwise 1.
        order: Number of elements of the group.
        is_real: Whether its matrices are real, and so its blocks.
    """

    index: int
    irrep: Representation
    copies: int
    order: int
    is_real: bool

    @property
    def name(self) -> str:
        """The irrep's name."""
        return self.irrep.name

    @property
    def dim(self) -> int:
        """Dimension d of the irrep."""
        return self.irrep.dim

    @property
    def matrices(self) -> Shaped[Tensor, "order d d"]:
        """Every rho(g); made when asked for where a formula gives them: all those of C4096 take 134 MB."""
        return self.irrep.matrices

    @property
    def weight(self) -> float:
        """`copies d^2 / |G|`: its share of a bump at one group element; all weights sum to 1."""
        return self.copies * self.dim**2 / self.order


@lru_cache(maxsize=32)  # equal groups have the same irreps in the same order
def frequencies(group: FiniteGroup) -> tuple[Frequency, ...]:
    """The irreps whose blocks determine a real profile; the trivial one first.

    A real profile has conjugate blocks at conjugate irreps, so one of each pair is enough: 33 of 64 for C64.

    >>> from symscope.groups import cyclic
    >>> [(f.name, f.copies) for f in frequencies(cyclic(4))]
    [('k=0', 1), ('k=1', 2), ('k=2', 1)]
    """
    identity, partner = check_finite_group(group).identity, conjugate_indices(group)
    return tuple(
        Frequency(i, rho, 1 if partner[i] == i else 2, group.order, not rho(identity).is_complex())
        for i, rho in enumerate(irreps(group))
        if i <= partner[i]
    )
