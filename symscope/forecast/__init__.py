"""The answer for a user: network, data and group in; forecast, trained check, verdict and advice out."""

from symscope.forecast.answer import Forecast, forecast

__all__ = ["Forecast", "forecast"]
