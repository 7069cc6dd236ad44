"""The experiment that is killed: sixteen cells of some milliseconds, two tables, a figure, a claim."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from symscope.report import new_figure, style
from symscope.runs import Claim, Experiment, Plot, Preset


@dataclass(frozen=True)
class Config:
    cells: int = 16
    seconds: float = 0.03


def cells(config):
    return [{"index": index} for index in range(config.cells)]


def measure(config, cell, context):
    time.sleep(config.seconds)
    numbers = random.Random(context.seed)
    rows = [{"rank": rank, "value": numbers.gauss(0, 1)} for rank in range(50)]
    return {"values": rows, "means": [{"mean": sum(row["value"] for row in rows) / len(rows)}]}


def plot(config, tables):
    figure = new_figure(4, 3)
    with style():
        figure.subplots().plot(tables["means"]["index"], tables["means"]["mean"])
    return [Plot("means", figure, "Means", "Fig. 1", "A line of means.")]


def claims(config, tables):
    return [
        Claim.at_most("Means are small.", "Sec. 1", tables["means"]["mean"].abs().max(), 1.0, quote="small")
    ]


torture = Experiment(
    id="torture/cells",
    paper="None",
    figure="Fig. 1",
    shows="That a run survives.",
    config=Config,
    presets=dict.fromkeys(("quick", "paper"), Preset(Config(), "a second")),
    cells=cells,
    measure=measure,
    plot=plot,
    claims=claims,
)
