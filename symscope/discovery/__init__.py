"""What else is symmetric? Symmetries of a network's parameters: exact, learned, induced, verified."""

from __future__ import annotations

from symscope.discovery._candidates import (
    Candidate,
    OneParameterAction,
    Transformation,
    moved,
    signed_permutation,
    velocities,
)
from symscope.discovery._discover import Discovery, Learning, discover
from symscope.discovery._discovery_page import discovery_page, generator_figure
from symscope.discovery._fields import (
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
from symscope.discovery._parameter_layout import Layout
from symscope.discovery._parameter_problem import (
    Problem,
    problem,
    sample_derivatives,
    sample_gradients,
    sample_losses,
    sample_outputs,
)
from symscope.discovery._sampling import (
    DataSource,
    ParameterSource,
    Rows,
    Sample,
    class_data,
    dataset,
    gaussian_data,
    normal_parameters,
    parameters_near,
    token_data,
)
from symscope.discovery._verification import Judgement, Verification, failing_share, verify
from symscope.discovery.exact._ansatz import Ansatz, all_linear, unit_mixing, unit_shifts
from symscope.discovery.exact._lie_algebra import Algebra, lie_algebra
from symscope.discovery.exact._linear_symmetries import (
    LinearSymmetries,
    fibre_dimension,
    linear_symmetries,
    orbit_dimension,
    translations,
)
from symscope.discovery.exact._monomials import Dictionary, monomials
from symscope.discovery.exact._null_space import (
    NullSpace,
    echelon,
    null_space,
    selected_dimension,
    settled_null_space,
)
from symscope.discovery.exact._polynomial_symmetries import (
    PolynomialSymmetries,
    known_multiples,
    polynomial_symmetries,
)
from symscope.discovery.known._catalogue import (
    KnownSymmetry,
    VerifiedSymmetry,
    catalogue,
    linear_combination,
    verified_catalogue,
)
from symscope.discovery.known._hidden_spaces import hidden_spaces
from symscope.discovery.known._spaces import Between, HiddenSpace, Side, sparse_field
from symscope.discovery.learned._action_networks import LinearAction, MLPAction
from symscope.discovery.learned._learned_symmetries import Learned, runge_kutta_action
from symscope.discovery.learned._learning import Training, learn
from symscope.discovery.learned._objective import (
    DATA_DEPENDENT,
    POINTWISE,
    SCALE_FREE,
    TERMS,
    Objective,
    Weights,
    action_data,
    objective_terms,
)
from symscope.discovery.learned._parameter_action import (
    action_field,
    bracket_defect,
    eq7_defect,
    field_derivative,
    identity_and_fields,
    integrated_defect,
)
from symscope.discovery.uses._combinators import deeper, induced, part_problem, smaller_batch, wider
from symscope.discovery.uses._conserved import (
    ConservedQuantity,
    TrainingPath,
    conservation,
    conserved_quantities,
    gradient_descent,
    gradient_flow,
)
from symscope.discovery.uses._level_field import level_field
from symscope.discovery.uses._symmetry_flow import flow, sample_flow

__all__ = [
    "DATA_DEPENDENT",
    "POINTWISE",
    "SCALE_FREE",
    "TERMS",
    "Algebra",
    "Ansatz",
    "Between",
    "Candidate",
    "ConservedQuantity",
    "DataSource",
    "Dictionary",
    "DictionaryField",
    "Discovery",
    "Field",
    "FunctionField",
    "HiddenSpace",
    "Judgement",
    "KnownSymmetry",
    "Layout",
    "Learned",
    "Learning",
    "LinearAction",
    "LinearField",
    "LinearSymmetries",
    "MLPAction",
    "NullSpace",
    "Objective",
    "OneParameterAction",
    "ParameterSource",
    "PolynomialSymmetries",
    "Problem",
    "Rows",
    "Sample",
    "Side",
    "Training",
    "TrainingPath",
    "Transformation",
    "Verification",
    "VerifiedSymmetry",
    "Weights",
    "action_data",
    "action_field",
    "all_linear",
    "bracket",
    "bracket_defect",
    "catalogue",
    "class_data",
    "combination",
    "conservation",
    "conserved_quantities",
    "dataset",
    "deeper",
    "discover",
    "discovery_page",
    "echelon",
    "eq7_defect",
    "failing_share",
    "fibre_dimension",
    "field_derivative",
    "field_values",
    "flow",
    "gaussian_data",
    "generator_figure",
    "gradient_descent",
    "gradient_flow",
    "hidden_spaces",
    "identity_and_fields",
    "induced",
    "integrated_defect",
    "known_multiples",
    "learn",
    "level_field",
    "lie_algebra",
    "linear_combination",
    "linear_field",
    "linear_symmetries",
    "monomials",
    "moved",
    "normal_parameters",
    "null_space",
    "objective_terms",
    "orbit_dimension",
    "parameters_near",
    "part_problem",
    "polynomial_symmetries",
    "problem",
    "random_linear_field",
    "runge_kutta_action",
    "sample_derivatives",
    "sample_flow",
    "sample_gradients",
    "sample_losses",
    "sample_outputs",
    "selected_dimension",
    "settled_null_space",
    "signed_permutation",
    "smaller_batch",
    "sparse_field",
    "token_data",
    "translations",
    "unit_mixing",
    "unit_shifts",
    "velocities",
    "verified_catalogue",
    "verify",
    "wider",
]
