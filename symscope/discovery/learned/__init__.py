"""Learned symmetries: actions and generators as networks, trained together."""

from __future__ import annotations

from symscope.discovery.learned._action_networks import LinearAction, MLPAction
from symscope.discovery.learned._learned_symmetries import LearnedActions, runge_kutta_action
from symscope.discovery.learned._learning import ActionTraining, learn_actions
from symscope.discovery.learned._objective import (
    DATA_DEPENDENT,
    POINTWISE,
    SCALE_FREE,
    TERMS,
    LearningObjective,
    TermWeights,
)
from symscope.discovery.learned._parameter_action import (
    ParameterAction,
    action_field,
    bracket_defect,
    eq7_defect,
    field_derivative,
    integrated_defect,
)

__all__ = [
    # training
    "learn_actions",
    "LearnedActions",
    "ActionTraining",
    # what is minimised
    "LearningObjective",
    "TermWeights",
    "TERMS",
    "DATA_DEPENDENT",
    "POINTWISE",
    "SCALE_FREE",
    # actions on parameters
    "ParameterAction",
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
