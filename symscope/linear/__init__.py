"""How fast is a symmetry learned? Closed-form flows of regression on symmetric data."""

from __future__ import annotations

from symscope.linear.assumptions import Assumption, check_assumptions
from symscope.linear.asymmetry import (
    SampledAsymmetry,
    asymmetric_part,
    asymmetry_loss,
    sampled_asymmetry_loss,
)
from symscope.linear.averages import feature_representation, group_mean, reynolds
from symscope.linear.components import Component, isotypic_components
from symscope.linear.descent import FlowTime, descent_rates, flow_time, learning_rate_for, mean_loss_rate
from symscope.linear.extremes import ExtremeRates, extreme_rates
from symscope.linear.flow import Flow, flow
from symscope.linear.moments import SecondMoments, second_moments, streamed_moments
from symscope.linear.rates import IrrepRates, irrep_rates, time_to_asymmetry, undecaying_part
from symscope.linear.regression import Regression, c_g, k_g, orbit_regression
from symscope.linear.split import Coupling, Split, coupling, invariant_weights, split

__all__ = [
    "Assumption",
    "Component",
    "Coupling",
    "ExtremeRates",
    "Flow",
    "FlowTime",
    "IrrepRates",
    "Regression",
    "SampledAsymmetry",
    "SecondMoments",
    "Split",
    "asymmetric_part",
    "asymmetry_loss",
    "c_g",
    "check_assumptions",
    "coupling",
    "descent_rates",
    "extreme_rates",
    "feature_representation",
    "flow",
    "flow_time",
    "group_mean",
    "invariant_weights",
    "irrep_rates",
    "isotypic_components",
    "k_g",
    "learning_rate_for",
    "mean_loss_rate",
    "orbit_regression",
    "reynolds",
    "sampled_asymmetry_loss",
    "second_moments",
    "split",
    "streamed_moments",
    "time_to_asymmetry",
    "undecaying_part",
]
