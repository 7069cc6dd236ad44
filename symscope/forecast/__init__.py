"""The answer for a user: network, data and group in; forecast, trained check, verdict and advice out."""

from symscope.forecast.advice import Advice
from symscope.forecast.answer import Forecast, forecast
from symscope.forecast.check import Outcome, Training
from symscope.forecast.density import Density
from symscope.forecast.equivariance import Equivariance, LayerError
from symscope.forecast.networks import NETWORKS

__all__ = [
    "NETWORKS",
    "Advice",
    "Density",
    "Equivariance",
    "Forecast",
    "LayerError",
    "Outcome",
    "Training",
    "forecast",
]
