"""What is kept for one group is never used for another that only looks like it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator

import pytest
import torch

from symscope.groups import (
    FiniteGroup,
    conjugate_indices,
    cyclic,
    dihedral,
    direct_product,
    from_generators,
    from_table,
    irreps,
    parse,
)
from symscope.groups.fourier import fourier, inverse_fourier
from symscope.groups.subgroups import as_group
from symscope.spectral import leave_out
from symscope.spectral.irrep_blocks import frequencies
from tests.spectral.orbit_problems import dense_residuals, random_missing, random_profile
from tests.spectral.problems import random_labels
from tests.tolerances import FOURIER, GROUP_LEAVE_OUT


def by_table(name: str) -> FiniteGroup:
    """The same name and table, without the factors."""
    return from_table(parse(name).table, name=name)


LOOKALIKES: dict[str, tuple[str, Callable[[], FiniteGroup]]] = {
    **{f"table C{n}": (f"C{n}", lambda n=n: by_table(f"C{n}")) for n in (2, 7, 12)},
    **{
        f"turns of D{n}": (f"C{n}", lambda n=n: as_group(dihedral(n), range(n), name=f"C{n}")) for n in (6, 7)
    },
    "4-cycle": ("C4", lambda: from_generators([[1, 2, 3, 0]], name="C4")),
    "table C3xC4": ("C3xC4", lambda: by_table("C3xC4")),
    "table C2xC2xC3": ("C2xC2xC3", lambda: by_table("C2xC2xC3")),
    "table S3xC5": ("S3xC5", lambda: by_table("S3xC5")),
    "table Q8xC3": ("Q8xC3", lambda: by_table("Q8xC3")),
    "Q8x(table C5)": ("Q8xC5", lambda: direct_product(parse("Q8"), by_table("C5"))),
    "(table C5)xC3": ("C5xC3", lambda: direct_product(by_table("C5"), cyclic(3))),
}
FILLS: dict[str, Callable[[FiniteGroup], object]] = {
    "irreps": irreps,
    "frequencies": frequencies,
    "leave_out": lambda group: leave_out(
        random_profile(group, 2, 5), random_labels(2, 5), random_missing(group, 2, 5), group, 0.1
    ),
}


@pytest.fixture(autouse=True)
def empty_caches() -> Iterator[None]:
    """Every test begins and ends with nothing kept."""
    kept = [sys.modules["symscope.groups.irreducible"]._irreps, frequencies]
    for cache in kept:
        cache.cache_clear()
    yield
    for cache in kept:
        cache.cache_clear()


def in_both_orders() -> list[tuple[str, str, bool]]:
    return list(itertools.product(LOOKALIKES, FILLS, (True, False)))


@pytest.mark.parametrize(("which", "fill", "swapped"), in_both_orders())
def test_leave_out_after_a_lookalike_is_still_dense_regression(which, fill, swapped):
    name, make = LOOKALIKES[which]
    first, second = (parse(name), make()) if swapped else (make(), parse(name))
    assert first.name == second.name
    assert torch.equal(first.table, second.table)
    FILLS[fill](first)
    for group in (second, first):
        for seed, ridge in ((1, 0.0), (2, 0.2)):
            profile, labels = random_profile(group, 2, seed), random_labels(2, seed, 2)
            missing = random_missing(group, 2, seed)
            result = leave_out(profile, labels, missing, group, ridge).residual
            dense = dense_residuals(profile, labels, missing, group, ridge)
            torch.testing.assert_close(result, dense, rtol=0, atol=GROUP_LEAVE_OUT)


@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("which", LOOKALIKES)
def test_irreps_and_fourier_agree_after_a_lookalike(which, swapped):
    name, make = LOOKALIKES[which]
    first, second = (parse(name), make()) if swapped else (make(), parse(name))
    irreps(first)
    values = torch.randn(3, second.order, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    blocks = fourier(values, second)
    for block, rho in zip(blocks, irreps(second), strict=True):
        slow = torch.einsum("bg,gij->bij", values.to(torch.complex128), rho.matrices.to(torch.complex128))
        assert torch.allclose(block, slow, atol=FOURIER * second.order)
    assert torch.allclose(inverse_fourier(blocks, second).real, values, atol=FOURIER)
    for i, j in enumerate(conjugate_indices(second)):
        a, b = (torch.einsum("gii->g", irreps(second)[k].matrices) for k in (i, j))
        assert torch.allclose(a.conj().to(torch.complex128), b.to(torch.complex128), atol=FOURIER)


def test_what_equal_groups_share_is_kept_once():
    assert irreps(cyclic(9)) is irreps(cyclic(9))
    assert irreps(parse("S3xC5")) is irreps(parse("S3xC5"))
    assert frequencies(parse("C3xC4")) is frequencies(parse("C3xC4"))
