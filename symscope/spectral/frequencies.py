"""The frequencies of a group that a real profile needs: every irrep, of conjugate pairs only one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import torch
from jaxtyping import Shaped
from torch import Tensor

from symscope.groups import FiniteGroup, irreps


@final
@dataclass(frozen=True, eq=False)
class Frequency:
    """One irrep, standing for its complex conjugate too if that is another one.

    Attributes:
        index: Its position in `groups.irreps(group)`.
        name: Its name there.
        dim: Dimension d of the irrep.
        copies: 2 if it stands for a conjugate pair, otherwise 1.
        matrices: `[order, d, d]`; real where the irrep is, and then the block is real.
    """

    index: int
    name: str
    dim: int
    copies: int
    matrices: Shaped[Tensor, "order d d"]

    @property
    def is_real(self) -> bool:
        """Whether its blocks are real matrices."""
        return not self.matrices.is_complex()

    @property
    def weight(self) -> float:
        """`copies d^2 / |G|`: its share of a bump at one group element; all weights sum to 1."""
        return self.copies * self.dim**2 / len(self.matrices)


@lru_cache(maxsize=32)
def frequencies(group: FiniteGroup) -> tuple[Frequency, ...]:
    """The irreps whose blocks determine a real profile; the trivial one first.

    A real profile has conjugate blocks at conjugate irreps, so one of each pair is enough: 33 of 64 for C64.

    >>> from symscope.groups import cyclic
    >>> [(f.name, f.copies) for f in frequencies(cyclic(4))]
    [('k=0', 1), ('k=1', 2), ('k=2', 1)]
    """
    reps = irreps(group)
    characters = torch.stack([torch.einsum("gii->g", rho.matrices.to(torch.complex128)) for rho in reps])
    # <conj chi_i, chi_j> is 1 exactly where j is the conjugate of i
    partner = (characters @ characters.T).real.argmax(1).tolist()
    return tuple(
        Frequency(i, rho.name, rho.dim, 1 if partner[i] == i else 2, rho.matrices)
        for i, rho in enumerate(reps)
        if i <= partner[i]
    )
