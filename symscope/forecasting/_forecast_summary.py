"""A forecast in short: a table by class, and a piece of HTML for a notebook."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from symscope.forecasting._forecast_page import REACHED, advice_table
from symscope.forecasting._result import Forecast
from symscope.report import Block, JudgedClaim, Note, Table, Text, fragment

if TYPE_CHECKING:
    import pandas as pd


SHOWN = {"known": "training samples", "architecture": "architecture alone"}  # as pages say it


def class_frame(result: Forecast) -> pd.DataFrame:
    """A row for each class: predicted accuracy, ends of its 95 % interval, and what training gave.

    Beside the forecast's own numbers, of new samples where there are some, stand those of the training
    samples ("known"), of what the class is covered in, and of the architecture alone. For regression a row
    for each group of numbers, and "explained" for "accuracy".
    """
    import pandas as pd

    words = result.question.task.words
    columns = {
        words.key: result.class_accuracy,
        "low": result.class_interval[:, 0],
        "high": result.class_interval[:, 1],
    }
    if result.pilot is not None:
        columns["known"] = result.pilot.known.class_score
        if result.pilot.covered is not None:
            columns["covered"] = result.pilot.covered.class_score
    if result.prediction is not None:
        columns["architecture"] = result.prediction.class_score
    if result.check is not None:
        columns["trained"] = result.check.class_accuracy if result.about_new else result.check.known_accuracy
        columns["trained_second"] = result.check.second_accuracy
    index = pd.Index(result.question.class_names, name=words.one)
    return pd.DataFrame({name: values.tolist() for name, values in columns.items()}, index=index)


def forecast_fragment(result: Forecast) -> str:
    """The verdict, what to beware of, the table by class and the advice, as HTML without a page around it."""
    frame, words = class_frame(result), result.question.task.words
    rows = [
        (str(name), *("–" if math.isnan(value) else f"{value:.2f}" for value in values))
        for name, values in zip(frame.index, frame.to_numpy().tolist(), strict=True)
    ]
    table = Table(
        f"{words.scored} by {words.one}, with its 95 % interval",
        (words.one, *(SHOWN.get(str(name), str(name).replace("_", ", ")) for name in frame.columns)),
        tuple(rows),
        numeric=(False, *(True for _ in frame.columns)),
    )
    cautions = [*filter(None, [result.training_failure]), *result.cautions, *result.notes]
    verdict = JudgedClaim(result.verdict, *REACHED[result.answer])
    blocks: list[Block] = [verdict, *map(Note, cautions), table]
    priced: list[Block] = [Text(result.ways_to_target), advice_table(result)] if result.advice else []
    return fragment([*blocks, *priced])
