"""Hypothesis strategies: every constructor of groups, and random products of them."""

from __future__ import annotations

import torch
from hypothesis import strategies as st

from symscope.groups import FiniteGroup, cyclic, dihedral, direct_product, from_generators, symmetric
from symscope.groups.group_products import semidirect_product
from symscope.groups.named_groups import alternating, quaternion
from symscope.groups.polyhedral import octahedral


def frobenius() -> FiniteGroup:
    """C7 : C3, the smallest non-abelian group of odd order."""
    powers = torch.stack([torch.arange(7) * p % 7 for p in (1, 2, 4)])
    return semidirect_product(cyclic(7), cyclic(3), powers)


def heisenberg() -> FiniteGroup:
    """Upper triangular 3x3 matrices over Z_3, order 27, as permutations of Z_3^3."""
    grid = torch.cartesian_prod(*[torch.arange(3)] * 3)

    def move(a: int, b: int) -> list[int]:
        x, y, z = grid.T
        moved = torch.stack([(x + a) % 3, (y + b) % 3, (z + a * y) % 3], dim=1)
        return (moved @ torch.tensor([9, 3, 1])).tolist()

    return from_generators([move(1, 0), move(0, 1)], name="Heis3")


simple_groups = st.one_of(
    st.integers(1, 12).map(cyclic),
    st.integers(1, 7).map(dihedral),
    st.integers(1, 4).map(symmetric),
    st.integers(1, 5).map(alternating),
    st.sampled_from([quaternion, octahedral, frobenius, heisenberg]).map(lambda make: make()),
)

finite_groups = st.one_of(
    simple_groups,
    st.tuples(simple_groups, simple_groups)
    .filter(lambda pair: pair[0].order * pair[1].order <= 120)
    .map(lambda pair: direct_product(*pair)),
)


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Seeded Gaussian numbers: nothing in them is symmetric."""
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
