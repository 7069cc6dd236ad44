from __future__ import annotations

import pytest
import torch

from symscope import groups
from symscope.errors import InputError
from symscope.groups.compact import o, so
from symscope.groups.constructions import defining
from symscope.linear._components import isotypic_components
from symscope.linear.group_averages import feature_representation
from tests.linear.problems import BUILDERS, draw, turned
from tests.tolerances import FOURIER


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_components_span_the_space_and_no_element_mixes_them(name):
    rep = turned(BUILDERS[name](), 2)
    parts = isotypic_components(rep)
    basis = torch.cat([part.basis for part in parts], 1)
    assert (basis.T @ basis - torch.eye(rep.dim)).abs().max() < FOURIER
    counts = groups.multiplicities(rep)
    for part in parts:
        dim = groups.irreps(rep.group)[part.index].dim
        assert part.dimension == int(counts[part.index]) * part.repeats
        assert part.repeats in (dim, 2 * dim)
        assert part.invariant == (part.index == 0)
        p = part.basis @ part.basis.T
        for g in rep.matrices:
            assert (g @ p - p @ g).abs().max() < FOURIER


def test_conjugate_irreps_share_a_component():
    names = [part.irrep for part in isotypic_components(groups.permutation(groups.cyclic(5)))]
    assert names == ["k=0", "k=1, k=4", "k=2, k=3"]


def test_compact_groups_by_the_casimir_operator():
    v = defining(so(3))
    parts = isotypic_components(v * v + groups.trivial(so(3)))
    assert [part.dimension for part in parts] == [2, 3, 5]  # l = 0 twice, l = 1, l = 2
    assert [part.invariant for part in parts] == [True, False, False]
    values = [float(part.irrep.removeprefix("Casimir ")) for part in parts]
    assert values[2] / values[1] == pytest.approx(3)  # l (l + 1): 2 and 6
    flipped = groups.constructions.from_function(
        o(2), 1, lambda g, x: x * torch.linalg.det(g), unitary=True, name="sign"
    )
    sign = groups.Representation(
        flipped.group, 1, "sign", flipped.action, derivative=lambda h, x: torch.zeros_like(x)
    )
    assert not isotypic_components(sign)[0].invariant


def test_bad_input():
    sheared = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.7, -1.0]]], dtype=torch.float64)
    with pytest.raises(InputError, match="change its basis with groups"):
        isotypic_components(feature_representation(sheared))
    with pytest.raises(InputError, match="elements of S10 are not listed: extreme_rates needs no irreps"):
        isotypic_components(groups.permutation(groups.symmetric(10)))
    q = torch.linalg.qr(draw(0, 2, 2) + 1j * draw(1, 2, 2)).Q
    swap = torch.stack([torch.eye(2).to(q), q @ torch.tensor([[0, 1], [1, 0]]).to(q) @ q.mH])
    with pytest.raises(InputError, match="expected a real representation"):
        isotypic_components(groups.from_matrices(groups.cyclic(2), swap))
