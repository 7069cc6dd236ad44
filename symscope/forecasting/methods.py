"""The parts a forecast is made of, for those who vary or measure them, as `forecast/quality` does.

A question is asked of some samples and their orbits (`as_question`, `draw_resample`), a tangent kernel is
chosen (`tangent_kernel`), kernel regression predicts what is missing (`resample_prediction`), and a training
plan says how networks are trained to check it (`CheckOptions.plan`).
"""

from symscope.forecasting._check import (
    HELD_LOSS,
    HELD_STEPS,
    PilotForecast,
    TrainingCheck,
    pilot_forecast,
    training_check,
)
from symscope.forecasting._kernel_choice import FiniteKernel, TangentKernel, tangent_kernel
from symscope.forecasting._kernel_logistic import LogisticFit, kernel_logistic_regression
from symscope.forecasting._kernel_prediction import FALLBACK_RIDGE, ResamplePrediction, resample_prediction
from symscope.forecasting._options import STEPS, TrainingPlan
from symscope.forecasting._prediction_task import accuracy_interval, explained_interval
from symscope.forecasting._question import Question, as_question, missing_masks
from symscope.forecasting._resample import Resample, draw_resample

__all__ = [  # noqa: RUF022  # in the order of a forecast
    # the question, and samples to ask it of
    "Question",
    "as_question",
    "Resample",
    "draw_resample",
    "missing_masks",
    # the kernel
    "FiniteKernel",
    "TangentKernel",
    "tangent_kernel",
    # what it predicts
    "FALLBACK_RIDGE",
    "ResamplePrediction",
    "resample_prediction",
    "LogisticFit",
    "kernel_logistic_regression",
    "accuracy_interval",
    "explained_interval",
    # training
    "HELD_LOSS",
    "HELD_STEPS",
    "STEPS",
    "TrainingPlan",
    "TrainingCheck",
    "training_check",
    "PilotForecast",
    "pilot_forecast",
]
