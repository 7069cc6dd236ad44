"""What else is symmetric? Symmetries of a network's parameters: exact, learned, induced, verified."""

from __future__ import annotations

from symscope.discovery.candidates import (
    Candidate,
    OneParameterAction,
    Transformation,
    moved,
    signed_permutation,
    velocities,
)
from symscope.discovery.fields import (
    DictionaryField,
    Field,
    FunctionField,
    LinearField,
    bracket,
    combination,
    field_values,
    linear_field,
    random_linear_field,
)
from symscope.discovery.flows import flow, sample_flow
from symscope.discovery.layout import Layout
from symscope.discovery.losses import (
    LOSSES,
    cross_entropy_loss,
    mean_squared_loss,
    named_loss,
    squared_loss,
)
from symscope.discovery.monomials import Dictionary, monomials
from symscope.discovery.problem import (
    Problem,
    problem,
    sample_derivatives,
    sample_gradients,
    sample_losses,
    sample_outputs,
)
from symscope.discovery.sampling import (
    DataSource,
    ParameterSource,
    Sample,
    class_data,
    dataset,
    gaussian_data,
    normal_parameters,
    parameters_near,
    token_data,
)
from symscope.discovery.verification import Judgement, Verification, failing_share, verify

__all__ = [
    "LOSSES",
    "Candidate",
    "DataSource",
    "Dictionary",
    "DictionaryField",
    "Field",
    "FunctionField",
    "Judgement",
    "Layout",
    "LinearField",
    "OneParameterAction",
    "ParameterSource",
    "Problem",
    "Sample",
    "Transformation",
    "Verification",
    "bracket",
    "class_data",
    "combination",
    "cross_entropy_loss",
    "dataset",
    "failing_share",
    "field_values",
    "flow",
    "gaussian_data",
    "linear_field",
    "mean_squared_loss",
    "monomials",
    "moved",
    "named_loss",
    "normal_parameters",
    "parameters_near",
    "problem",
    "random_linear_field",
    "sample_derivatives",
    "sample_flow",
    "sample_gradients",
    "sample_losses",
    "sample_outputs",
    "signed_permutation",
    "squared_loss",
    "token_data",
    "velocities",
    "verify",
]
