"""The answer for a user: network, data and group in; forecast, trained check, verdict and price list out.

>>> import symscope
>>> digits = symscope.data.mnist_sample().of_classes(0, 1, 4)
>>> options = ForecastOptions(method="kernel", per_class=2)
>>> answer = symscope.forecast("mlp", digits, "C4 rotation", options=options)
>>> answer.question.group.name, answer.check is None
('C4', True)

Beyond this index:

- `symscope.forecasting.methods`: the parts a forecast is made of, for those who vary or measure them
"""

from symscope.forecasting._price_list import Advice
from symscope.forecasting._comparison_page import comparison_page, comparison_sentences, verdict_table
from symscope.forecasting._forecast import ForecastStopped, forecast
from symscope.forecasting._forecast_page import forecast_page
from symscope.forecasting._options import ForecastOptions, TrainingOptions
from symscope.forecasting._result import Forecast

__all__ = [  # grouped by purpose
    # ask
    "forecast",
    "ForecastOptions",
    "TrainingOptions",
    # the answer
    "Forecast",
    "Advice",
    "ForecastStopped",
    # show it
    "forecast_page",
    "comparison_page",
    "comparison_sentences",
    "verdict_table",
]
