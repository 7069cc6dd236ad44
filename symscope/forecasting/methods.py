"""The parts a forecast is made of, for those who vary or measure them, as `forecast/bank` does.

A question is asked of some samples and their orbits (`as_question`, `draw_resample`), a tangent kernel is
chosen (`tangent_kernel`), kernel regression predicts what is missing (`resample_prediction`). Designs say
what trainings see and lack; pilot trainings are extrapolated (`pilot_forecast`), whole ones check it
(`training_check`).
"""

from symscope.forecasting._advice import Remedies
from symscope.forecasting._check import TrainingCheck, training_check
from symscope.forecasting._compressed_training import StepCost, smallest_batch
from symscope.forecasting._coverage import Coverage, ElementWords, parse_coverage
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import Design, interleaved_designs, true_designs
from symscope.forecasting._equivariance import INVARIANT
from symscope.forecasting._extrapolation import moved_scores
from symscope.forecasting._full_kernel import full_kernel_prediction
from symscope.forecasting._kernel_choice import FiniteKernel, TangentKernel, kernel_seconds, tangent_kernel
from symscope.forecasting._kernel_prediction import (
    FALLBACK_RIDGE,
    ResamplePrediction,
    class_pairs,
    resample_prediction,
)
from symscope.forecasting._learned_forecast import (
    LEAST_SPREAD,
    WEIGHTS,
    class_logits,
    correction_features,
    half_widths,
    to_come,
)
from symscope.forecasting._neighbours import nearest_neighbours
from symscope.forecasting._orbit_points import standardise_points
from symscope.forecasting._pilot import PilotForecast, pilot_forecast, predict_table
from symscope.forecasting._pilot_plan import PilotPlan, pilot_plan
from symscope.forecasting._prediction_task import accuracy_interval, explained_interval
from symscope.forecasting._question import Question, as_question
from symscope.forecasting._remedy_trials import augmentation_trial
from symscope.forecasting._resample import Resample, draw_resample
from symscope.forecasting._sample_split import ForecastSamples, forecast_samples
from symscope.forecasting._trained_answer import ScoreTable, TablePrediction, TrainedAnswer, class_scores

__all__ = [  # noqa: RUF022  # in the order of a forecast
    # the question, and samples to ask it of
    "Question",
    "as_question",
    "Coverage",
    "ElementWords",
    "parse_coverage",
    "Resample",
    "draw_resample",
    "ForecastSamples",
    "forecast_samples",
    "standardise_points",
    # the kernel
    "FiniteKernel",
    "TangentKernel",
    "tangent_kernel",
    "kernel_seconds",
    # what it predicts
    "FALLBACK_RIDGE",
    "ResamplePrediction",
    "resample_prediction",
    "class_pairs",
    "full_kernel_prediction",
    "accuracy_interval",
    "explained_interval",
    # which trainings answer, and what they answer
    "Design",
    "interleaved_designs",
    "true_designs",
    "DesignTrainer",
    "ScoreTable",
    "TrainedAnswer",
    # pilot trainings
    "StepCost",
    "smallest_batch",
    "PilotPlan",
    "pilot_plan",
    "PilotForecast",
    "TablePrediction",
    "pilot_forecast",
    "predict_table",
    # the correction that was fitted on the bank
    "nearest_neighbours",
    "correction_features",
    "class_logits",
    "moved_scores",
    "half_widths",
    "to_come",
    "INVARIANT",
    "LEAST_SPREAD",
    "WEIGHTS",
    # whole trainings
    "TrainingCheck",
    "training_check",
    "class_scores",
    # what to do
    "Remedies",
    "augmentation_trial",
]
