from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import (
    cyclic,
    dihedral,
    from_matrices,
    from_table,
    hom,
    irreps,
    parse,
    permutation,
    symmetric,
    trivial,
)
from symscope.groups.compact import so
from symscope.groups.constructions import defining, regular
from symscope.groups.named_groups import quaternion
from symscope.groups.spin import spin
from symscope.testing import assert_representation
from tests.groups.strategies import normal, simple_groups
from tests.tolerances import FOURIER, ROUNDING


@st.composite
def representations(draw):
    """Random expressions in the algebra of representations of a random group, dimension at most 40."""
    group = draw(simple_groups)
    atoms = [trivial(group), regular(group), permutation(group), *irreps(group)]
    rep = draw(st.sampled_from(atoms))
    for _ in range(draw(st.integers(0, 3))):
        other = draw(st.sampled_from(atoms))
        match draw(st.sampled_from(["sum", "product", "copies", "dual"])):
            case "sum":
                candidate = rep + other
            case "product":
                candidate = rep * other
            case "copies":
                candidate = 2 * rep
            case _:
                candidate = rep.dual
        rep = candidate if candidate.dim <= 40 else rep
    return rep


@given(representations())
def test_the_algebra_stays_inside_representations(rep):
    assert_representation(rep, tolerance=FOURIER)


@given(representations())
def test_lazy_action_equals_matrices(rep):
    x = normal(3, rep.dim, seed=rep.dim)
    for g in rep.group.generators:
        matrix = rep(g)
        assert torch.allclose(rep.act(g, x).to(matrix.dtype), x.to(matrix.dtype) @ matrix.T, atol=ROUNDING)
        assert torch.equal(rep.matrices[g], matrix)
        assert torch.allclose(rep.act(g, x.T.contiguous(), axis=0), rep.act(g, x).T, atol=ROUNDING)


@given(representations())
def test_permutation_form_agrees_with_the_action(rep):
    if rep.permutation is None:
        return
    x = normal(rep.dim, seed=1)
    for g in rep.group.generators:
        moved = torch.empty_like(x)
        moved[rep.permutation(g)] = x
        assert torch.equal(moved, rep.act(g, x))


def test_sum_and_product_are_block_diagonal_and_kronecker():
    g = symmetric(3)
    v, w = permutation(g), irreps(g)[2]
    for e in g.elements:
        assert torch.allclose((v + w)(e), torch.block_diag(v(e), w(e)), atol=ROUNDING)
        assert torch.allclose((v * w)(e), torch.kron(v(e), w(e).contiguous()), atol=ROUNDING)
        assert torch.allclose((3 * w)(e), torch.block_diag(w(e), w(e), w(e)), atol=ROUNDING)
        assert torch.allclose((2 * (v + w))(e), torch.block_diag(v(e), w(e), v(e), w(e)), atol=ROUNDING)


@pytest.mark.parametrize("rep", [irreps(quaternion())[4], irreps(cyclic(5))[2]], ids=repr)
def test_dual_of_a_complex_irrep_is_inverse_transposed(rep):
    for g in rep.group.elements:
        assert torch.allclose(rep.dual(g), rep(rep.group.inverse(g)).T, atol=ROUNDING)
    z = normal(2, rep.dim, seed=0, dtype=torch.complex128)
    assert torch.allclose(rep.dual.act(1, z), z @ rep.dual(1).T, atol=ROUNDING)


def test_dual_of_a_non_unitary_representation():
    change = torch.tensor([[1.0, 2.0], [0.5, 3.0]], dtype=torch.float64)
    rotations = irreps(dihedral(4))[-1].matrices
    rep = from_matrices(dihedral(4), change @ rotations @ torch.linalg.inv(change))
    assert not rep.unitary
    assert_representation(rep.dual)
    for g in rep.group.elements:
        assert torch.allclose(rep.dual(g), torch.linalg.inv(rep(g)).T, atol=ROUNDING)


def test_hom_conjugates_matrices():
    g = symmetric(4)
    v, w = permutation(g), irreps(g)[3]
    a = normal(w.dim, v.dim, seed=3)
    for e in g.elements:
        expected = w(e) @ a @ torch.linalg.inv(v(e))
        assert torch.allclose(hom(v, w).act(e, a.flatten()).view_as(a), expected, atol=ROUNDING)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 2), (3, 1)])
def test_lie_derivatives_follow_leibniz(a, b):
    assert_representation(spin(a) * spin(b) + 2 * spin(a).dual + trivial(so(3)), tolerance=1e-9)


def test_too_big_to_list_still_acts():
    v = permutation(symmetric(12))
    g, h = v.group.sample(2, torch.Generator().manual_seed(0))
    x = normal(144, seed=0)
    once = (v * v).act(v.group.multiply(g, h), x)
    assert torch.equal((v * v).act(g, (v * v).act(h, x)), once)
    with pytest.raises(InputError, match="elements of S12 are not listed"):
        _ = v.matrices


def test_float32_stays_float32():
    for rep in (irreps(dihedral(3))[2], permutation(dihedral(3)), defining(so(3))):
        g = rep.group.generators[0] if not isinstance(rep.group, type(so(3))) else rep.group.identity
        assert rep.act(g, torch.ones(2, rep.dim)).dtype == torch.float32


def test_values_can_be_sent_to_other_processes():
    rep = 2 * permutation(dihedral(3)) + irreps(dihedral(3))[2] * regular(dihedral(3)).dual
    again = pickle.loads(pickle.dumps(rep))
    x = normal(rep.dim, seed=0)
    assert torch.equal(again.act(4, x), rep.act(4, x))


def test_names():
    v = permutation(parse("C4"))
    assert repr(2 * v + v * v) == "2 V4 + V4 * V4 of C4"
    assert repr((v + v) * irreps(parse("C4"))[1].dual) == "(V4 + V4) * k=1* of C4"


def test_bad_input():
    v = permutation(cyclic(4))
    with pytest.raises(InputError, match="one group, got C4 and C5"):
        v + permutation(cyclic(5))
    with pytest.raises(InputError, match="one group, got C4 and C5"):
        v * permutation(cyclic(5))
    with pytest.raises(
        InputError, match="one group, got two called C4 with different tables or factors: make"
    ):
        v + permutation(from_table(cyclic(4).table, name="C4"))
    with pytest.raises(InputError, match="axis -1 of length 4 for V4 of C4, got shape \\(3,\\)"):
        v.act(1, torch.ones(3))
    with pytest.raises(InputError, match="positive number of copies"):
        0 * v
    with pytest.raises(InputError, match="a Lie algebra; C4 has none"):
        v.act_algebra(torch.zeros(4, 4), torch.ones(4))
