"""Small networks for sets, points, graphs and series: sizes that no network has."""

from __future__ import annotations

import pytest

from symscope.errors import InputError
from symscope.networks.structured import DeepSets, MessagePassing, PointNet, RowGRU


@pytest.mark.parametrize("kind", [DeepSets, PointNet, MessagePassing, RowGRU])
@pytest.mark.parametrize("size", [0, -3, 2**40, True])
def test_sizes_that_no_network_has_are_refused_by_name(kind, size):
    with pytest.raises(InputError, match="outputs"):
        kind(3, size)
    with pytest.raises(InputError, match=r"columns|nodes|inputs"):
        kind(size, 3)
