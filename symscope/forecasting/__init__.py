"""The answer for a user: network, data and group in; forecast, trained check, verdict and advice out."""

from symscope.forecasting._advice import Advice
from symscope.forecasting._answer import Forecast, forecast
from symscope.forecasting._check import Outcome, Training
from symscope.forecasting._comparison_page import comparison_page, lead, verdict_table
from symscope.forecasting._density import Density
from symscope.forecasting._equivariance import Equivariance, LayerError
from symscope.forecasting._forecast_page import forecast_page
from symscope.forecasting._pilot import Pilot
from symscope.forecasting._sources import named_classes, named_data, named_own_action
from symscope.forecasting._summary import as_json, verdict

__all__ = [
    "Advice",
    "Density",
    "Equivariance",
    "Forecast",
    "LayerError",
    "Outcome",
    "Pilot",
    "Training",
    "as_json",
    "comparison_page",
    "forecast",
    "forecast_page",
    "lead",
    "named_classes",
    "named_data",
    "named_own_action",
    "verdict",
    "verdict_table",
]
