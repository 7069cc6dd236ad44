"""How fast is a symmetry learned? Closed-form training of regression on symmetric data, and a tracker.

For papers, benchmarks and specialists:

- `symscope.linear.asymmetry`: the asymmetric part of a function, and its loss from random group elements;
- `symscope.linear.decay_rates`: rates of decay for each irrep, and at the ends of the spectrum;
- `symscope.linear.descent`: from learning rate and steps to the time of gradient flow;
- `symscope.linear.group_averages`: the Reynolds operator and means over a group;
- `symscope.linear.linearised`: training of a linearised network, at any step, in closed form;
- `symscope.linear.tracker`: the tracker's records and figure;
- `symscope.linear.weight_parts`: symmetric and asymmetric weights, and whether they mix;
- `symscope.linear.weights_spectrum`: the spectrum of the empirical weights kernel.
"""

from __future__ import annotations

from symscope.linear._closed_flow import RegressionFlow, regression_flow
from symscope.linear._extremes import extreme_rates
from symscope.linear._lightning_callback import lightning_callback
from symscope.linear._linear_theory import LinearTheory, linear_theory
from symscope.linear._moments import SecondMoments, second_moments, streamed_moments
from symscope.linear._orbit_regression import OrbitRegression, orbit_regression
from symscope.linear._regression_assumptions import regression_assumptions
from symscope.linear.asymmetry import asymmetry_loss
from symscope.linear.decay_rates import irrep_rates, time_to_asymmetry
from symscope.linear.tracker import AsymmetryTracker
from symscope.linear.weight_parts import weight_split

__all__ = [
    # from data of any kind to everything below
    "LinearTheory",
    "linear_theory",
    # how symmetric a network is, during training
    "asymmetry_loss",
    "AsymmetryTracker",
    "lightning_callback",
    # regression on whole orbits
    "SecondMoments",
    "second_moments",
    "streamed_moments",
    "OrbitRegression",
    "orbit_regression",
    "regression_assumptions",
    # its training in closed form
    "RegressionFlow",
    "regression_flow",
    "weight_split",
    "irrep_rates",
    "extreme_rates",
    "time_to_asymmetry",
]
