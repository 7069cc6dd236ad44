"""Learned symmetries: actions and generators as networks, trained together."""

from __future__ import annotations

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
)
from symscope.discovery.learned._parameter_action import (
    Action,
    action_field,
    bracket_defect,
    eq7_defect,
    field_derivative,
    integrated_defect,
)

__all__ = [
    # training
    "learn",
    "Learned",
    "Training",
    # what is minimised
    "Objective",
    "Weights",
    "TERMS",
    "DATA_DEPENDENT",
    "POINTWISE",
    "SCALE_FREE",
    # actions on parameters
    "Action",
    "LinearAction",
    "MLPAction",
    "runge_kutta_action",
    # their fields, and how far they miss the axioms of an action
    "action_field",
    "field_derivative",
    "bracket_defect",
    "eq7_defect",
    "integrated_defect",
]
