"""What else is symmetric? Symmetries of a network's parameters: exact, learned, induced, verified."""

from __future__ import annotations

from symscope.discovery.action import (
    LinearAction,
    MLPAction,
    action_field,
    bracket_defect,
    eq7_defect,
    field_derivative,
    identity_and_fields,
    integrated_defect,
)
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
from symscope.discovery.learned import Learned, runge_kutta_action
from symscope.discovery.learned_training import Training, learn
from symscope.discovery.losses import (
    LOSSES,
    cross_entropy_loss,
    mean_squared_loss,
    named_loss,
    squared_loss,
)
from symscope.discovery.monomials import Dictionary, monomials
from symscope.discovery.objective import (
    DATA_DEPENDENT,
    TERMS,
    Objective,
    Weights,
    action_data,
    objective_terms,
)
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
    "DATA_DEPENDENT",
    "LOSSES",
    "TERMS",
    "Candidate",
    "DataSource",
    "Dictionary",
    "DictionaryField",
    "Field",
    "FunctionField",
    "Judgement",
    "Layout",
    "Learned",
    "LinearAction",
    "LinearField",
    "MLPAction",
    "Objective",
    "OneParameterAction",
    "ParameterSource",
    "Problem",
    "Sample",
    "Training",
    "Transformation",
    "Verification",
    "Weights",
    "action_data",
    "action_field",
    "bracket",
    "bracket_defect",
    "class_data",
    "combination",
    "cross_entropy_loss",
    "dataset",
    "eq7_defect",
    "failing_share",
    "field_derivative",
    "field_values",
    "flow",
    "gaussian_data",
    "identity_and_fields",
    "integrated_defect",
    "learn",
    "linear_field",
    "mean_squared_loss",
    "monomials",
    "moved",
    "named_loss",
    "normal_parameters",
    "objective_terms",
    "parameters_near",
    "problem",
    "random_linear_field",
    "runge_kutta_action",
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
