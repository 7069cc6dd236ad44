"""Blocks of kernels on whole orbits, against Fourier coefficients, the finite groups, and plain sums."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import Quadrature, cyclic, dihedral, direct_product, finite_part, haar_quadrature
from symscope.groups.compact import o, so, torus
from symscope.groups.constructions import defining
from symscope.groups.polyhedral import icosahedral
from symscope.groups.spin import spin
from symscope.spectral import leave_out
from symscope.spectral.continuous import arc, leave_out_range, orbit_blocks, zonal_coefficients
from symscope.spectral.irrep_blocks import fourier_blocks
from tests.shapes import annotations_unchecked

EXACT = 1e-12
DENSE = 1e-10  # of labels of size 1, by two ways of solving
GROUPS = {"SO(2)": so(2), "O(2)": o(2), "SO(3)": so(3), "O(3)": o(3), "T1": torus(1), "T2": torus(2)}


def unit(m: int, n: int, seed: int = 0) -> torch.Tensor:
    x = torch.randn(m, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return x / x.norm(dim=1, keepdim=True)


def polynomial(degree: int):
    """A kernel of clouds or vectors whose degree over the group is this one: all lower degrees occur."""

    def kernel(x, y):
        return (1 + x.flatten(1) @ y.flatten(1).T / 2) ** degree

    return kernel


def profile_at(kernel, x, elements):
    moved = torch.stack([x @ g.T for g in elements], dim=1).flatten(0, 1)
    return kernel(x, moved).reshape(len(x), len(x), len(elements))


def test_the_circle_has_the_fourier_coefficients_of_the_kernel():
    angle = torch.tensor([0.3, 1.7], dtype=torch.float64)
    points = torch.stack([angle.cos(), angle.sin()], dim=1)

    def kernel(x, y):  # 1 + 2 cos(a) / 2 + 2 cos(3 a) / 4
        c = x @ y.T
        return 1 + c + (4 * c**3 - 3 * c) / 2

    blocks = orbit_blocks(kernel, points, so(2), 4)
    assert blocks.captured == pytest.approx(1, abs=EXACT)
    apart = torch.exp(1j * torch.arange(5) * (angle[1] - angle[0]))
    for k, size in enumerate((1, 0.5, 0, 0.25, 0)):
        expected = size * torch.tensor([[1, apart[k]], [apart[k].conj(), 1]], dtype=torch.complex128)
        assert torch.allclose(blocks.blocks[k], expected, atol=EXACT)


@pytest.mark.parametrize(("degree", "agrees"), [(7, True), (9, False)])
def test_the_finite_part_agrees_with_the_circle_up_to_its_band_limit(degree, agrees):
    part, kernel, x = finite_part(so(2)), polynomial(degree), unit(2, 2)
    blocks = orbit_blocks(kernel, x, so(2), degree)
    turns = haar_quadrature(so(2), part.group.order - 1).elements
    finite = {f.index: block for f, block in fourier_blocks(profile_at(kernel, x, turns), part.group)}
    apart = max(
        float((finite[k] / part.group.order - blocks.blocks[k]).abs().max())
        for k in range(part.band_limit + 1)
    )
    assert (apart < EXACT) == agrees


@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3)])
def test_blocks_of_rotations_are_those_of_a_plain_sum(shape):
    x, kernel = (
        torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)),
        polynomial(2),
    )
    blocks = orbit_blocks(kernel, x, so(3), 2)
    assert blocks.captured == pytest.approx(1, abs=1e-10)
    rule = haar_quadrature(so(3), 4)
    profile = profile_at(kernel, x, rule.elements)
    for degree, block in enumerate(blocks.blocks):
        matrices = torch.stack([spin(degree)(g) for g in rule.elements])
        plain = torch.einsum("q,stq,qij->sitj", rule.weights, profile, matrices)
        plain = plain.reshape(len(block), len(block))
        assert torch.allclose(torch.linalg.eigvalsh(block), torch.linalg.eigvalsh(plain), atol=1e-11)
        assert torch.allclose(block, block.mH, atol=1e-11)


def test_zonal_kernels_have_one_eigenvalue_for_each_degree():
    def zonal(t):
        return 1 + t - 0.5 * t**3 + t**4

    expected = zonal_coefficients(zonal, 4)
    blocks = orbit_blocks(lambda x, y: zonal(x @ y.T), unit(1, 3), so(3), 4)
    for degree, own in enumerate(blocks.eigenvalues()):
        extreme = own[own.abs().argmax()]
        assert torch.isclose(extreme, expected[degree], atol=EXACT)
        assert int((own.abs() > 1e-11).sum()) == 1
        assert blocks.multiplicity(degree) == 2 * degree + 1
    t = torch.linspace(-1, 1, 7, dtype=torch.float64)
    legendre = torch.stack([torch.special.legendre_polynomial_p(t, k) for k in range(5)])
    assert torch.allclose((2 * torch.arange(5) + 1).double() * expected @ legendre, zonal(t))


def test_the_icosahedral_group_agrees_where_its_irreps_are_those_of_rotations():
    """Degrees 0, 1 and 2 stay irreducible under I: for kernels of degree 2 blocks are 60 times SO(3)'s."""
    part, x, kernel = finite_part(so(3)).group, unit(2, 3), polynomial(2)
    blocks = orbit_blocks(kernel, x, so(3), 2)
    finite = list(fourier_blocks(profile_at(kernel, x, part.matrices), part))
    for block in blocks.blocks:
        side = len(block) // 2
        same = [
            own
            for f, own in finite
            if f.dim == side
            and torch.allclose(torch.linalg.eigvalsh(own) / 60, torch.linalg.eigvalsh(block), atol=1e-11)
        ]
        assert len(same) == 1
    assert sum(float(own.abs().max()) > 1e-9 for _, own in finite) == 3


def test_what_lies_beyond_the_band_limit_is_said():
    few = orbit_blocks(polynomial(6), unit(2, 3), so(3), 3)
    assert 0.9 < few.captured < 1 - 1e-6
    assert "exact for kernels up to degree 8" in repr(few)
    more = orbit_blocks(polynomial(6), unit(2, 3), so(3), 6)
    assert more.captured == pytest.approx(1, abs=1e-10)
    for one, other in zip(few.blocks, more.blocks, strict=False):  # exact up to degree 8 all the same
        assert torch.allclose(one, other, atol=1e-10)


def test_bad_input():
    with pytest.raises(
        InputError, match=r"expected SO\(2\), O\(2\), SO\(3\), O\(3\) or a torus, got SO\(4\)"
    ):
        orbit_blocks(polynomial(1), unit(2, 4), so(4), 1)
    with pytest.raises(InputError, match=r"expected samples.*none empty, got \(2, 0, 3\)"):
        orbit_blocks(polynomial(1), torch.zeros(2, 0, 3, dtype=torch.float64), so(3), 1)
    with pytest.raises(InputError, match=r"the samples.*finite"):
        orbit_blocks(polynomial(1), unit(2, 3) * torch.nan, so(3), 1)
    with pytest.raises(
        InputError, match=r"invariant.*changes by"
    ):  # handed: rotations keep it, mirrors do not
        orbit_blocks(lambda x, y: 1 + volume(x)[:, None] + volume(y), clouds(2, 3, 3), o(3), 1)
    with pytest.raises(InputError, match="expected 3 coordinates"):
        orbit_blocks(polynomial(1), unit(2, 2), so(3), 1)
    with pytest.raises(InputError, match="expected a kernel that is invariant"):
        orbit_blocks(lambda x, y: x[:, :1] @ y[:, :1].T, unit(2, 3), so(3), 1)
    with pytest.raises(InputError, match="nodes"):
        zonal_coefficients(torch.exp, 4, nodes=3)
    blocks, rule = orbit_blocks(polynomial(1), unit(2, 2), so(2), 1), arc(-30.0, 30.0, 3)
    mask, labels = torch.ones(2, 3, dtype=torch.bool), torch.ones(2, dtype=torch.float64)
    with pytest.raises(InputError, match="ridge: expected a positive number"):
        leave_out_range(blocks, labels, rule, mask, 0.0)
    with pytest.raises(InputError, match=r"expected labels for 2 orbits and a mask \[2, 3\]"):
        leave_out_range(blocks, labels, rule, mask[:, :2], 0.1)
    with pytest.raises(InputError, match=r"labels.*finite"):
        leave_out_range(blocks, labels * torch.inf, rule, mask, 0.1)
    with pytest.raises(InputError, match=r"targets: expected a representation of SO\(2\) on labels"):
        leave_out_range(blocks, torch.ones(2, 3).double(), rule, mask, 0.1, targets=defining(so(3)))
    with pytest.raises(InputError, match="of at most the whole group"):
        leave_out_range(blocks, labels, Quadrature(rule.elements, 9 * rule.weights), mask, 0.1)
    with pytest.raises(InputError, match=r"expected elements of SO\(2\), float64 matrices \[q, 2, 2\]"):
        blocks.profile(torch.eye(3, dtype=torch.float64)[None])
    for wrong in (2.0, torch.nan, -1.0):
        stretched = torch.diag(torch.tensor([wrong, 1.0], dtype=torch.float64))[None]
        with pytest.raises(InputError, match=r"some of these matrices are none"):
            blocks.profile(stretched)
    with pytest.raises(InputError, match="low < high"):
        arc(30.0, 30.0, 3)


def clouds(m: int, points: int, n: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(m, points, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) / 2


def volume(x):
    return torch.linalg.det(x)


def random_kernel(degree: int, points: int, seed: int):
    """A kernel of clouds, of this degree over the group: weighted powers of inner products."""
    generator = torch.Generator().manual_seed(seed)
    mixes = torch.randn(degree + 1, 2, points, dtype=torch.float64, generator=generator)
    weights = 0.2 + torch.rand(degree + 1, dtype=torch.float64, generator=generator)

    def kernel(x, y):
        total = 0.0
        for power, (weight, mix) in enumerate(zip(weights, mixes, strict=True)):
            a, b = (torch.einsum("jp,npd->njd", mix, z).flatten(1) for z in (x, y))
            total = total + weight * (a @ b.T / 2) ** power
        return total

    return kernel


@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), degree=st.integers(1, 3))
def test_blocks_hold_the_kernel_at_every_element(name, seed, degree):
    group = GROUPS[name]
    x, kernel = clouds(3, 3, group.size, seed), random_kernel(degree, 3, seed)
    blocks = orbit_blocks(kernel, x, group, degree)
    assert blocks.captured == pytest.approx(1, abs=DENSE)
    g = group.sample(5, torch.Generator().manual_seed(seed))
    expected = profile_at(kernel, x, g)
    assert torch.allclose(blocks.profile(g), expected, atol=DENSE * float(expected.abs().max()))
    for irrep, block in zip(blocks.irreps, blocks.blocks, strict=True):
        product = irrep.matrices((g[0] @ g[1])[None])[0]
        assert torch.allclose(product, irrep.matrices(g)[0] @ irrep.matrices(g)[1], atol=1e-12)
        assert torch.allclose(block, block.mH, atol=DENSE * float(expected.abs().max()))
        assert float(torch.linalg.eigvalsh(block)[0]) > -DENSE * float(expected.abs().max())


def dense_predictions(kernel, points, labels, mass, seen, ridge):
    """The minimiser of `sum_seen mass |f - y|^2 + ridge |f|^2`, from the whole kernel matrix."""
    gram = kernel(points, points)
    inner = gram[seen][:, seen] + ridge * torch.diag(1 / mass[seen])
    return gram[:, seen] @ torch.linalg.solve(inner, labels[seen])


@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0.1, 0.9), ridge=st.floats(1e-3, 1.0))
def test_leaving_out_nodes_of_a_rule_is_dense_ridge_regression_on_them(name, seed, share, ridge):
    group, degree = GROUPS[name], 2 if name not in ("SO(3)", "O(3)") else 1
    x, kernel = clouds(2, 3, group.size, seed), random_kernel(degree, 3, seed)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randn(2, 2, dtype=torch.float64, generator=generator)
    rule = haar_quadrature(group, 2 * degree)
    missing = torch.rand(2, len(rule.elements), generator=generator) < share
    missing[0, 0], missing[1, 0] = True, False
    found = leave_out_range(orbit_blocks(kernel, x, group, degree), labels, rule, missing, ridge)
    points = torch.stack([x @ g.T for g in rule.elements], dim=1).flatten(0, 1)
    count = len(rule.elements)
    dense = dense_predictions(
        kernel,
        points,
        labels.repeat_interleave(count, 0),
        rule.weights.repeat(2) / 2,
        ~missing.flatten(),
        ridge,
    )
    assert torch.allclose(found.flatten(0, 1), dense, atol=DENSE)


@pytest.mark.parametrize("name", ["SO(2)", "O(2)", "SO(3)", "O(3)", "T2"])
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6), ridge=st.floats(1e-3, 1.0))
def test_targets_that_turn_are_those_of_dense_regression(name, seed, ridge):
    group, degree = GROUPS[name], 1
    turning = defining(group)
    x, kernel = clouds(2, 3, group.size, seed), random_kernel(degree, 3, seed)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randn(2, group.size, dtype=torch.float64, generator=generator)
    rule = haar_quadrature(group, 2 * degree)
    missing = torch.rand(2, len(rule.elements), generator=generator) < 0.5
    missing[0, 0], missing[1, 0] = True, False
    blocks = orbit_blocks(kernel, x, group, degree)
    found = leave_out_range(blocks, labels, rule, missing, ridge, targets=turning)
    points = torch.stack([x @ g.T for g in rule.elements], dim=1).flatten(0, 1)
    targets = torch.stack([labels @ g.T for g in rule.elements], dim=1).flatten(0, 1)
    mass = rule.weights.repeat(2) / 2
    dense = dense_predictions(kernel, points, targets, mass, ~missing.flatten(), ridge)
    assert torch.allclose(found.flatten(0, 1), dense, atol=DENSE)


def plane_turns(n: int) -> torch.Tensor:
    return haar_quadrature(so(2), n - 1).elements


def finite_subgroups():
    turns, flip = plane_turns(6), torch.diag(torch.tensor([-1.0, 1.0], dtype=torch.float64))
    fours, fives = plane_turns(5), plane_turns(6)
    both = torch.stack([torch.block_diag(a, b) for a in fours for b in fives])
    solid, mirrored = icosahedral(), icosahedral(inversion=True)
    return {
        "SO(2)": (cyclic(6), turns),
        "O(2)": (dihedral(6), torch.cat([turns, turns @ flip])),
        "T2": (direct_product(cyclic(5), cyclic(6)), both),
        "SO(3)": (solid, solid.matrices),
        "O(3)": (mirrored, mirrored.matrices),
    }


@pytest.mark.parametrize("name", ["SO(2)", "O(2)", "T2", "SO(3)", "O(3)"])
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6), ridge=st.floats(1e-3, 1.0))
def test_finite_subgroups_agree_where_they_are_fine_enough(name, seed, ridge):
    finite, matrices = finite_subgroups()[name]
    matrices = matrices.double()
    group, x, kernel = GROUPS[name], clouds(2, 2, GROUPS[name].size, seed), random_kernel(2, 2, seed)
    blocks, n = orbit_blocks(kernel, x, group, 2), finite.order
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randn(2, dtype=torch.float64, generator=generator)
    missing = torch.rand(2, n, generator=generator) < 0.5
    missing[0, 0], missing[1, 0] = True, False
    rule = Quadrature(matrices, torch.full((n,), 1 / n, dtype=torch.float64))
    found = leave_out_range(blocks, labels, rule, missing, ridge)
    expected = leave_out(blocks.profile(matrices), labels, missing, finite, ridge * 2 * n)
    assert torch.allclose(found[missing], expected.prediction, atol=DENSE)


@pytest.mark.parametrize("name", ["O(2)", "T2"])
def test_blocks_of_finite_subgroups_are_multiples_of_those_of_the_whole(name):
    finite, matrices = finite_subgroups()[name]
    x, kernel = clouds(2, 2, GROUPS[name].size), random_kernel(2, 2, 1)
    blocks = orbit_blocks(kernel, x, GROUPS[name], 2)
    own = list(fourier_blocks(profile_at(kernel, x, matrices), finite))
    for block in blocks.blocks:
        expected = torch.linalg.eigvalsh(block) * finite.order
        found = (torch.linalg.eigvalsh(b) for _, b in own if len(b) == len(block))
        assert any(torch.allclose(values, expected, atol=1e-9) for values in found)


def test_an_arc_that_is_missing_is_the_rest_of_the_circle():
    x, kernel, ridge = clouds(2, 3, 2, 3), random_kernel(3, 3, 3), 0.01
    labels = torch.tensor([1.0, -0.5], dtype=torch.float64)
    gone, rest = arc(-40.0, 80.0, 24), arc(80.0, 320.0, 40)
    missing = torch.tensor([[True], [False]]).expand(2, 24)
    found = leave_out_range(orbit_blocks(kernel, x, so(2), 3), labels, gone, missing, ridge)
    elements = torch.cat([gone.elements, rest.elements])
    points = torch.stack([x @ g.T for g in elements], dim=1).flatten(0, 1)
    seen = torch.ones(2, 64, dtype=torch.bool)
    seen[0, :24] = False
    mass = torch.cat([gone.weights, rest.weights]).repeat(2) / 2
    dense = dense_predictions(kernel, points, labels.repeat_interleave(64), mass, seen.flatten(), ridge)
    assert torch.allclose(found, dense.reshape(2, 64)[:, :24], atol=DENSE)
    assert float((found[0] - labels[0]).abs().max()) > 0.05  # it is not learned from the rest alone


def test_one_circle_is_the_rotations_of_the_plane():
    x, kernel = clouds(2, 3, 2), random_kernel(3, 3, 0)
    pairs = zip(
        orbit_blocks(kernel, x, so(2), 3).blocks, orbit_blocks(kernel, x, torus(1), 3).blocks, strict=True
    )
    assert all(torch.equal(one, other) for one, other in pairs)


def test_a_vector_has_the_parity_of_its_degree():
    blocks = orbit_blocks(polynomial(3), unit(2, 3), o(3), 3)
    sizes = {irrep.name: float(b.abs().max()) for irrep, b in zip(blocks.irreps, blocks.blocks, strict=True)}
    for degree in range(4):
        own, other = ("even", "odd") if degree % 2 == 0 else ("odd", "even")
        assert sizes[f"degree {degree}, {own}"] > 1e-3
        assert sizes[f"degree {degree}, {other}"] < EXACT


def test_the_number_of_irreps_is_what_peter_and_weyl_count():
    kernel, sums = random_kernel(2, 3, 0), {}
    for name, group in GROUPS.items():
        blocks = orbit_blocks(kernel, clouds(1, 3, group.size), group, 2)
        sums[name] = sum(one.multiplicity * one.dim for one in blocks.irreps)
    expected = {"SO(2)": 5, "O(2)": 10, "SO(3)": 1 + 9 + 25, "O(3)": 70, "T1": 5, "T2": 25}
    assert sums == expected
    assert math.isclose(float(arc(0.0, 360.0, 5).weights.sum()), 1, abs_tol=EXACT)


def squares(x, y):
    return (x @ y.T) ** 2


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (lambda x, y: None, "expected a torch.Tensor of its entries, got NoneType"),
        (lambda x, y: x.sum(), "expected one entry for every pair"),
        (lambda x, y: squares(x, y) + 1j, "complex128"),
        (lambda x, y: squares(x, y) * math.nan, "finite"),
        (lambda x, y: 0 * squares(x, y), "got 0 for every pair"),
    ],
)
def test_what_is_no_kernel_is_refused(kernel, said):
    with pytest.raises(InputError, match=said):
        orbit_blocks(kernel, unit(2, 3), so(3), 2)


def test_finite_groups_and_functions_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"or a torus, got C4"), annotations_unchecked():
        orbit_blocks(squares, unit(2, 2), cyclic(4), 2)
    with pytest.raises(InputError, match="function: expected a real number for each of 3"):
        zonal_coefficients(lambda t: t[:1], 2)
