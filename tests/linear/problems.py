"""Random regression problems with a symmetry: groups, data, noise, designs of full and of deficient rank."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from hypothesis import strategies as st

from symscope import groups
from symscope.groups import Representation
from symscope.groups.constructions import defining, regular

BUILDERS = {
    "C2 on 3": lambda: groups.permutation(groups.cyclic(2)) + groups.trivial(groups.cyclic(2)),
    "C5": lambda: groups.permutation(groups.cyclic(5)),
    "C3xC2": lambda: regular(groups.direct_product(groups.cyclic(3), groups.cyclic(2))),
    "D4": lambda: defining(groups.dihedral(4)) + groups.trivial(groups.dihedral(4)),
    "S3": lambda: groups.permutation(groups.symmetric(3)) * groups.permutation(groups.symmetric(3)),
    "Q8": lambda: regular(groups.named_groups.quaternion()),
    "S4": lambda: groups.permutation(groups.symmetric(4)) + groups.trivial(groups.symmetric(4)),
}


def turned(rep: Representation, seed: int) -> Representation:
    """The same representation in another orthonormal basis: nothing is a permutation any more."""
    q = torch.linalg.qr(draw(seed, rep.dim, rep.dim)).Q
    return groups.from_matrices(rep.group, q @ rep.matrices @ q.mT, name=rep.name)


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@dataclass(frozen=True)
class Problem:
    """One point per orbit, labels with noise, and a start."""

    rep: Representation
    x: torch.Tensor
    y: torch.Tensor
    start: torch.Tensor

    @property
    def elements(self) -> torch.Tensor:
        """The paper's matrices, X -> X g."""
        return self.rep.matrices.mT


@st.composite
def problems(draws, equivariant: bool = False) -> Problem:
    rep = BUILDERS[draws(st.sampled_from(sorted(BUILDERS)))]()
    seed = draws(st.integers(0, 10_000))
    if draws(st.booleans()):
        rep = turned(rep, seed + 1)
    points = draws(st.integers(1, 12))
    rank = draws(st.integers(1, rep.dim))
    x = draw(seed + 2, points, rank) @ draw(seed + 3, rank, rep.dim)
    shape = (rep.dim,) if equivariant else ()
    noise = draws(st.sampled_from([0.0, 0.5]))
    truth = draw(seed + 4, rep.dim, *shape)
    y = x @ truth + noise * draw(seed + 5, points, *shape)
    return Problem(rep, x, y, draw(seed + 6, rep.dim, *shape))
