"""How fast is a symmetry learned? Closed-form flows of regression on symmetric data."""

from __future__ import annotations

from symscope.linear._asymmetry import (
    SampledAsymmetry,
    asymmetric_part,
    asymmetry_loss,
    sampled_asymmetry_loss,
)
from symscope.linear._averages import feature_representation, group_mean, reynolds
from symscope.linear._closed_flow import Flow, flow
from symscope.linear._components import Component, isotypic_components
from symscope.linear._descent import FlowTime, descent_rates, flow_time, learning_rate_for, mean_loss_rate
from symscope.linear._ewk_spectrum import EwkSpectrum, ewk_spectrum, slow_eigenvalue
from symscope.linear._extremes import ExtremeRates, extreme_rates
from symscope.linear._kernelised import (
    FeatureError,
    FeatureMap,
    KernelisedElement,
    KernelisedError,
    activation_features,
    feature_error,
    gradient_features,
    kernelisation_table,
    kernelised_element,
)
from symscope.linear._lazy import LazyNetwork, kernel_change, lazy_loss
from symscope.linear._lightning_callback import lightning_callback
from symscope.linear._linear_assumptions import Assumption, check_assumptions
from symscope.linear._linearised import LinearisedNetwork, linearised, predicted_asymmetry
from symscope.linear._moments import SecondMoments, second_moments, streamed_moments
from symscope.linear._orbit_regression import Regression, c_g, k_g, orbit_regression
from symscope.linear._rates import IrrepRates, irrep_rates, time_to_asymmetry, undecaying_part
from symscope.linear._records import Parts, Record
from symscope.linear._tracker import AsymmetryTracker
from symscope.linear._tracker_figure import tracker_figure
from symscope.linear._weight_split import Coupling, Split, coupling, invariant_weights, split

__all__ = [
    "Assumption",
    "AsymmetryTracker",
    "Component",
    "Coupling",
    "EwkSpectrum",
    "ExtremeRates",
    "FeatureError",
    "FeatureMap",
    "Flow",
    "FlowTime",
    "IrrepRates",
    "KernelisedElement",
    "KernelisedError",
    "LazyNetwork",
    "LinearisedNetwork",
    "Parts",
    "Record",
    "Regression",
    "SampledAsymmetry",
    "SecondMoments",
    "Split",
    "activation_features",
    "asymmetric_part",
    "asymmetry_loss",
    "c_g",
    "check_assumptions",
    "coupling",
    "descent_rates",
    "ewk_spectrum",
    "extreme_rates",
    "feature_error",
    "feature_representation",
    "flow",
    "flow_time",
    "gradient_features",
    "group_mean",
    "invariant_weights",
    "irrep_rates",
    "isotypic_components",
    "k_g",
    "kernel_change",
    "kernelisation_table",
    "kernelised_element",
    "lazy_loss",
    "learning_rate_for",
    "lightning_callback",
    "linearised",
    "mean_loss_rate",
    "orbit_regression",
    "predicted_asymmetry",
    "reynolds",
    "sampled_asymmetry_loss",
    "second_moments",
    "slow_eigenvalue",
    "split",
    "streamed_moments",
    "time_to_asymmetry",
    "tracker_figure",
    "undecaying_part",
]
