"""Names of parameter entries."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.discovery._parameter_layout import ParameterLayout

SHAPES = st.lists(st.lists(st.integers(1, 4), max_size=3).map(tuple), min_size=1, max_size=4)


@given(SHAPES)
def test_flat_and_named_are_inverse_and_entries_name_the_right_number(shapes):
    layout = ParameterLayout(tuple(f"p{i}" for i in range(len(shapes))), tuple(shapes))
    theta = torch.arange(layout.size, dtype=torch.float64)
    named = layout.named(theta)
    assert torch.equal(layout.flat(named), theta)
    for index, entry in enumerate(layout.entries()):
        name, _, where = entry.partition("[")
        place = tuple(int(i) for i in where[:-1].split(",")) if where else ()
        assert named[name][place] == index
        assert layout.indices(name)[place] == index
    assert len(layout.only(layout.names)) == layout.size


def test_bad_names_shapes_and_indices_are_refused():
    layout = ParameterLayout(("first.weight", "first.bias"), ((2, 3), (2,)))
    with pytest.raises(InputError, match=r"no parameter 'first\.wieght'; did you mean 'first\.weight'"):
        layout.indices("first.wieght")
    with pytest.raises(InputError, match="index from 0 to 7, got 8"):
        layout.entry(8)
    with pytest.raises(InputError, match=r"vector of 8 parameters, got shape .7"):
        layout.named(torch.zeros(7))
    with pytest.raises(InputError, match=r"'first\.bias': expected shape \[2\], got nothing"):
        layout.flat({"first.weight": torch.zeros(2, 3)})
    with pytest.raises(InputError, match="each name once"):
        ParameterLayout(("a", "a"), ((1,), (1,)))
