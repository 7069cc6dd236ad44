"""Synthetic data sets with a known symmetry: the papers' own, and the smallest ones that show an effect."""

from symscope.data.synthetic._circles import circles
from symscope.data.synthetic._letters import letters
from symscope.data.synthetic._regression_toys import (
    RegressionToy,
    absolute_value,
    coordinate_sum,
    permuted_cube,
    swapped_squares,
)

__all__ = [
    "RegressionToy",
    "absolute_value",
    "circles",
    "coordinate_sum",
    "letters",
    "permuted_cube",
    "swapped_squares",
]
