"""Structure of Lie algebras: known ones under random changes of basis."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope import InputError
from symscope.discovery.exact import lie_algebra, linear_symmetries
from symscope.discovery.fields import linear_field
from tests.discovery.networks import chain, two_layers


def _elementary(n):
    eye = torch.eye(n * n, dtype=torch.float64)
    return list(eye.reshape(n * n, n, n))


def _orthogonal(p, q):
    """so(p, q): matrices M with M^T J + J M = 0."""
    n = p + q
    J = torch.diag(torch.tensor([1.0] * p + [-1.0] * q).double())
    result = []
    for a in range(n):
        for b in range(a):
            skew = torch.zeros(n, n, dtype=torch.float64)
            skew[a, b], skew[b, a] = 1, -1
            result.append(J @ skew)
    return result


def _heisenberg():
    x, y, z = (torch.zeros(3, 3, dtype=torch.float64) for _ in range(3))
    x[0, 1] = y[1, 2] = z[0, 2] = 1
    return [x, y, z]


def _blocks(*families):
    """Direct sum, each family on entries of its own."""
    total, out, start = sum(f[0].shape[0] for f in families), [], 0
    for family in families:
        size = family[0].shape[0]
        for matrix in family:
            full = torch.zeros(total, total, dtype=torch.float64)
            full[start : start + size, start : start + size] = matrix
            out.append(full)
        start += size
    return out


# name, generators, signature, centre, derived, radical
KNOWN = {
    "gl(2)": (_elementary(2), (2, 1, 1), 1, 3, 1),
    "gl(3)": (_elementary(3), (5, 3, 1), 1, 8, 1),
    "so(3)": (_orthogonal(3, 0), (0, 3, 0), 0, 3, 0),
    "sl(2)": (_orthogonal(2, 1), (2, 1, 0), 0, 3, 0),
    "2 sl(2)": (_orthogonal(2, 2), (4, 2, 0), 0, 6, 0),
    "2 so(3)": (_orthogonal(4, 0), (0, 6, 0), 0, 6, 0),
    "so(3,1)": (_orthogonal(3, 1), (3, 3, 0), 0, 6, 0),
    "sl(4) = so(3,3)": (_orthogonal(3, 3), (9, 6, 0), 0, 15, 0),
    "solvable of dimension 3": (_heisenberg(), (0, 0, 3), 1, 1, 3),
    "gl(2) + gl(3)": (_blocks(_elementary(2), _elementary(3)), (7, 4, 2), 2, 11, 2),
    "so(3) + R^2": (_blocks(_orthogonal(3, 0), _elementary(1), _elementary(1)), (0, 3, 2), 2, 3, 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_algebras_in_a_random_basis(name):
    matrices, signature, centre, derived, radical = KNOWN[name]
    generator = torch.Generator().manual_seed(5)
    d, n = len(matrices), matrices[0].shape[0]
    mix = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64)).Q
    turn = torch.randn(n, n, generator=generator, dtype=torch.float64) + 2 * torch.eye(n)
    mixed = torch.einsum("ij,jab->iab", mix, torch.stack(matrices))
    fields = [linear_field(turn @ m @ torch.linalg.inv(turn)) for m in mixed]
    result = lie_algebra(fields, n)
    assert result.name == name
    assert result.dimension == d
    assert (result.signature, result.centre, result.derived, result.radical) == (
        signature,
        centre,
        derived,
        radical,
    )
    assert result.closure < 1e-9


@settings(max_examples=5)
@given(st.integers(0, 10**5))
def test_the_killing_form_is_invariant_and_constants_satisfy_jacobi(seed):
    result = linear_symmetries(two_layers(2, 2, 3, "linear"), seed=seed)
    algebra = lie_algebra(result.fields, 10)
    c, B = algebra.constants, algebra.killing
    assert torch.allclose(c, -c.transpose(0, 1), atol=1e-9)
    jacobi = torch.einsum("ijl,lkm->ijkm", c, c)
    total = jacobi + jacobi.permute(1, 2, 0, 3) + jacobi.permute(2, 0, 1, 3)
    assert total.abs().max() < 1e-8
    invariance = torch.einsum("ijl,lk->ijk", c, B) + torch.einsum("ikl,jl->ijk", c, B)
    assert invariance.abs().max() < 1e-8


@pytest.mark.parametrize(
    ("widths", "activation", "name"),
    [
        ((2, 3, 2), "linear", "gl(3)"),
        ((1, 2, 1), "linear", "2 sl(2)"),
        ((1, 4, 1), "linear", "so(4,4)"),
        ((3, 2, 1), "linear", "sl(2) with a solvable radical of dimension 4"),
        ((2, 3, 2), "relu", "R^3"),
        ((2, 2, 2), "tanh", "0"),
    ],
)
def test_algebras_found_in_networks(widths, activation, name):
    made = chain(widths, activation)
    result = linear_symmetries(made, seed=0, affine=False)
    assert lie_algebra(result.fields, made.size).name == name


def test_translations_are_taken_off_before_brackets():
    made = chain((2, 2, 3), "linear", bias=True, loss="cross-entropy")
    result = linear_symmetries(made, seed=0)
    algebra = lie_algebra(result.fields, made.size, result.translations)
    assert result.dimension == 4 + 2  # gl(2) and shifts of two units
    assert algebra.closure < 1e-8
    assert algebra.name == "sl(2) with a solvable radical of dimension 3"


def test_sets_that_are_no_algebra_and_bad_input():
    e, f = _elementary(2)[1], _elementary(2)[2]
    result = lie_algebra([linear_field(e), linear_field(f)], 2)
    assert result.name == "not closed under brackets"
    assert result.closure > 0.5
    with pytest.raises(InputError, match="depend on each other"):
        lie_algebra([linear_field(e), linear_field(2 * e)], 2)
    many = [linear_field(torch.randn(1100, 1100).double()) for _ in range(42)]
    with pytest.raises(InputError, match="42 generators on 1100 parameters are too many"):
        lie_algebra(many, 1100)
