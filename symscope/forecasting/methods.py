"""The parts a forecast is made of, for those who vary or measure them, as `forecast/quality` does.

A question is asked of some samples and their orbits (`as_question`, `draw_resample`), a tangent kernel is
chosen (`tangent_kernel`), kernel regression predicts what is missing (`resample_prediction`). Designs say
what trainings see and lack; pilot trainings are extrapolated (`pilot_forecast`), whole ones check it
(`training_check`).
"""

from symscope.forecasting._check import TrainingCheck, training_check
from symscope.forecasting._coverage import Coverage, ElementWords, parse_coverage
from symscope.forecasting._designs import Design, interleaved_designs, true_designs
from symscope.forecasting._kernel_choice import FiniteKernel, TangentKernel, tangent_kernel
from symscope.forecasting._kernel_prediction import FALLBACK_RIDGE, ResamplePrediction, resample_prediction
from symscope.forecasting._pilot import PilotForecast, PilotPlan, pilot_forecast, pilot_plan
from symscope.forecasting._prediction_task import accuracy_interval, explained_interval
from symscope.forecasting._question import Question, as_question
from symscope.forecasting._resample import Resample, draw_resample
from symscope.forecasting._sample_split import ForecastSamples, forecast_samples
from symscope.forecasting._trained_answer import DesignTrainer, ScoreTable, TrainedAnswer

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
    # the kernel
    "FiniteKernel",
    "TangentKernel",
    "tangent_kernel",
    # what it predicts
    "FALLBACK_RIDGE",
    "ResamplePrediction",
    "resample_prediction",
    "accuracy_interval",
    "explained_interval",
    # which trainings answer, and what they answer
    "Design",
    "interleaved_designs",
    "true_designs",
    "DesignTrainer",
    "ScoreTable",
    "TrainedAnswer",
    # pilot trainings, and whole ones
    "PilotPlan",
    "pilot_plan",
    "PilotForecast",
    "pilot_forecast",
    "TrainingCheck",
    "training_check",
]
