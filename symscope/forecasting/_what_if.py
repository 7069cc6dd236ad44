"""The what-if of a forecast's page: samples, transformations seen and remedy, and what they lead to.

Every number is a row of the price list, or one of the pairs of changes that its trainings show as well.
"""

from __future__ import annotations

import math

from symscope.forecasting._price_list import Advice
from symscope.forecasting._result import Forecast
from symscope.report import Choices

TIMES = {1: "as now", 2: "twice as many", 4: "four times as many"}
REMEDIES = {
    "none": "none",
    "average": "average the outputs at test time",
    "build in": "build the symmetry in",
}


def what_if(result: Forecast) -> Choices:
    """The price list as choices; what was not computed together is not among the outcomes."""
    rows = [*result.advice, *result.combinations]
    samples = sorted({row.change.samples for row in rows})
    elements = sorted({_elements(row) for row in rows})
    tried = {row.change.remedy for row in rows}
    remedies = [*(name for name in REMEDIES if name in tried), *sorted(tried - set(REMEDIES))]
    outcomes = tuple(
        (
            (
                samples.index(row.change.samples),
                elements.index(_elements(row)),
                remedies.index(row.change.remedy),
            ),
            (row.accuracy, row.low, row.high),
            (
                ("training data", row.training_data_text),
                ("training", row.training_time_text),
                ("inference", f"x {row.inference_cost}"),
                ("evidence", row.evidence),
            ),
        )
        for row in rows
    )
    order = result.question.group.order
    menus = [
        ("Samples", tuple(TIMES[count] for count in samples)),
        ("Transformations seen", tuple(_seen(count, chosen, order) for count, chosen in elements)),
        ("Remedy", tuple(_remedy(name, result.question.target_action is not None) for name in remedies)),
    ]
    offered = [k for k, (_, options) in enumerate(menus) if len(options) > 1]
    lowest = min([0.0, *(row.low for row in rows)])
    return Choices(
        f"What if? {result.question.task.words.axis.capitalize()} at what is missing now",
        tuple(menus[k] for k in offered),
        tuple(k < 2 for k in offered),
        tuple((tuple(places[k] for k in offered), ends, more) for places, ends, more in outcomes),
        result.question.target,
        max(-1.0, math.floor(10 * lowest) / 10),
    )


def _elements(row: Advice) -> tuple[int, str]:
    """How many transformations are in the training data besides, and which."""
    return row.change.elements, row.change.chosen


def _seen(count: int, chosen: str, order: int) -> str:
    if count == 0:
        return "as now"
    which = {"spread": ", spread evenly", "drawn": ", drawn", "range": ", within 90°"}[chosen]
    return f"all {order}" if count == order else f"{count} of {order}{which}"


def _remedy(name: str, moved: bool) -> str:
    """A remedy in words; outputs that change with the sample are moved back before they are averaged."""
    if name == "average" and moved:
        return "average the outputs, moved back, at test time"
    return REMEDIES.get(name, f"architecture like {name}")
