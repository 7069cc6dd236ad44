"""Names of fields."""

from __future__ import annotations

import torch

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery.exact import linear_symmetries
from symscope.discovery.fields import linear_field
from symscope.discovery.known._naming import field_description, named_basis, named_fields
from tests.discovery.networks import two_layers


def test_known_fields_take_the_name_of_the_catalogue_whatever_their_scale():
    made = two_layers(2, 2, 2, "relu")
    result = linear_symmetries(made, seed=0).fields
    scaled = [linear_field(-7.0 * field.dense(made.size)) for field in result]
    assert [f.name for f in named_fields(made, scaled)] == [f.name for f in result]


def test_others_say_what_moves():
    layout = ParameterLayout(("a.weight", "b"), ((1, 2), (1,)))
    table = torch.tensor([[0.0, 0, 3], [0, 0, 0], [-2, 0, 0]])
    field = linear_field(table, torch.tensor([0.0, 0.0, 1.0]))
    expected = (
        "linear field on a.weight, b: a.weight[0,0] moves by 3 b[0]; b[0] moves by -2 a.weight[0,0]; "
        "b[0] moves by 1"
    )
    assert field_description(field, layout) == expected
    many = linear_field(torch.ones(3, 3))
    assert field_description(many, layout).endswith("; ...")


def test_a_mixed_basis_is_resolved_into_known_fields_and_the_rest():
    made = two_layers(1, 2, 1, "linear")  # so(2, 2): gl(2) and two fields more
    result = linear_symmetries(made, seed=0, affine=False)
    generator = torch.Generator().manual_seed(1)
    span = torch.stack([f.dense(4).reshape(-1) for f in result.fields], 1)
    mixed = torch.linalg.qr(span @ torch.randn(6, 6, generator=generator, dtype=torch.float64)).Q
    again = named_basis(made, mixed, torch.zeros(4, 0).double(), affine=False)
    assert [f.name for f in again[:4]] == [f.name for f in result.fields[:4]]
    assert "mixing of unit 1 into unit 0" in again[1].name
    assert all(name.startswith("linear field on 0.weight, 2.weight") for name in (f.name for f in again[4:]))
