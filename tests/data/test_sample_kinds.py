from __future__ import annotations

import pytest

from symscope.data import parse_named_action, sample_kind


@pytest.mark.parametrize(
    ("text", "shape", "kind"),
    [
        ("C8", (28, 28), "image"),
        ("C8", (3, 28, 28), "image"),
        ("D4", (1, 64), "series"),
        ("flip", (2, 64), "series"),
        ("I", (20, 3), "points"),
        ("flip", (20, 3), "points"),
        ("S4", (4, 4), "graph"),
        ("S4", (4, 3), "set"),
    ],
)
def test_kinds_by_action_and_shape(text, shape, kind):
    assert sample_kind(parse_named_action(text, shape)[1], shape) == kind
