from __future__ import annotations

import symscope
from symscope.errors import InputError, nearest


def test_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)
    assert symscope.InputError is InputError


def test_nearest_suggests_or_lists():
    assert nearest("rotatoin", ["rotation", "shift"]) == "did you mean 'rotation'?"
    assert nearest("qqq", ["b", "a"]) == "known: a, b."
