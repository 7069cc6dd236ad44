"""The answer for a user: network, data and group in; forecast, trained check, verdict and advice out.

The room can be called: `symscope.forecast(model, data, action)` is `symscope.forecast.forecast(...)`.
"""

import sys
from types import ModuleType
from typing import Any

from symscope.forecast.advice import Advice
from symscope.forecast.answer import Forecast, forecast
from symscope.forecast.check import Outcome, Training
from symscope.forecast.density import Density
from symscope.forecast.equivariance import Equivariance, LayerError
from symscope.forecast.networks import NETWORKS
from symscope.forecast.page import forecast_page
from symscope.forecast.pilot import Pilot
from symscope.forecast.summary import as_json, verdict

__all__ = [
    "NETWORKS",
    "Advice",
    "Density",
    "Equivariance",
    "Forecast",
    "LayerError",
    "Outcome",
    "Pilot",
    "Training",
    "as_json",
    "forecast",
    "forecast_page",
    "verdict",
]


class _Room(ModuleType):
    """A module that answers a call as its main function does."""

    def __call__(self, *args: Any, **options: Any) -> Forecast:
        return forecast(*args, **options)


sys.modules[__name__].__class__ = _Room
