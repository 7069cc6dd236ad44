"""What else is symmetric? Symmetries of a network's parameters: exact, known, learned, verified.

`discover` answers for one network; the parts it is made of are public too:

- `symscope.discovery.exact`: linear and polynomial symmetries as null spaces, and the Lie algebras they form;
- `symscope.discovery.known`: the catalogue of what standard layers have by themselves;
- `symscope.discovery.learned`: actions and generators as networks, trained together;
- `symscope.discovery.uses`: conserved quantities, and flows along symmetries;
- `symscope.discovery.fields`, `symscope.discovery.candidates`: symmetries written down by hand, to verify;
- `symscope.discovery.sampling`, `symscope.discovery.loss_derivatives`: points of parameters and data, losses
  and gradients there, for searches of one's own;
- `symscope.discovery.figures`: heat maps of generators.
"""

from __future__ import annotations

from symscope.discovery._discover import Discovery, LearningOptions, discover, learning_options
from symscope.discovery._discovery_page import discovery_page
from symscope.discovery._parameter_problem import ParameterProblem, parameter_problem
from symscope.discovery._verification import Verification, verify
from symscope.discovery.known import verified_catalogue
from symscope.discovery.sampling import (
    DataSource,
    ParameterSource,
    class_data,
    dataset,
    gaussian_data,
    parameters_near,
    token_data,
)

__all__ = [
    # everything about one network
    "discover",
    "Discovery",
    "LearningOptions",
    "learning_options",
    "discovery_page",
    # the network, its loss, and where parameters and data come from
    "parameter_problem",
    "ParameterProblem",
    "DataSource",
    "ParameterSource",
    "gaussian_data",
    "class_data",
    "token_data",
    "dataset",
    "parameters_near",
    # known symmetries, and the test of any candidate
    "verified_catalogue",
    "verify",
    "Verification",
]
