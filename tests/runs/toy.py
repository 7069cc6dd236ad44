"""An experiment that can be told to dawdle, fail or kill its worker; loaded by path, as a user's own is."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

import torch

from symscope.report import new_figure, style
from symscope.runs import Claim, Experiment, Plot, Preset


@dataclass(frozen=True)
class Toy:
    cells: int = 6
    seconds: float = 0.0
    fail: tuple[int, ...] = ()
    kill: tuple[int, ...] = ()
    word: str = "plain"
    threshold: float = 1.0
    fair: bool = True


def cells(config):
    return [{"index": index} for index in range(config.cells)]


def measure(config, cell, context):
    time.sleep(config.seconds)
    if cell["index"] in config.fail:
        raise ZeroDivisionError(f"cell {cell['index']} was told to fail")
    if cell["index"] in config.kill:
        os.kill(os.getpid(), signal.SIGKILL)
    generator = torch.Generator().manual_seed(context.seed)
    x = torch.randn(40, 40, generator=generator, dtype=torch.float64)
    careless = torch.rand(1, dtype=torch.float64)  # from the global generator
    spectrum = torch.linalg.eigvalsh(x @ x.T)
    return {
        "norms": [
            {"norm": torch.linalg.norm(x), "careless": careless[0], "threads": torch.get_num_threads()}
        ],
        "spectrum": [{"rank": rank, "value": value} for rank, value in enumerate(spectrum[:3])],
    }


def plot(config, tables):
    figure = new_figure(4, 3)
    with style():
        axes = figure.subplots()
        axes.plot(tables["norms"]["index"], tables["norms"]["norm"])
        axes.set_xticks([0], ["first"])  # words: matplotlib takes a fifth of a second for numbers
        axes.set_yticks([40], ["forty"])
    return [Plot("norms", figure, "Norms", "Fig. 7", "A line of norms.", "They are all near forty.")]


def claims(config, tables):
    norms = tables["norms"]["norm"]
    return [
        Claim.at_least(
            "Random matrices have a norm.", "Fig. 7", norms.min(), config.threshold, quote="have a norm"
        ),
        Claim.at_most("They are not too large.", "Sec. 2", norms.max(), 100.0, quote="moderately large"),
        Claim.not_checked("They are beautiful.", "Sec. 3", "a matter of taste", quote="beautiful"),
        Claim.beyond("Mean norm.", norms.mean(), expected="40", uncertainty="± 1"),
    ]


toy = Experiment(
    id="toy/matrices",
    paper="A paper about <matrices> & norms",
    figure="Fig. 7",
    shows="Random matrices have norms.",
    config=Toy,
    presets={
        "quick": Preset(Toy(), "no time"),
        "paper": Preset(Toy(cells=8), "no time either"),
        "authors": Preset(Toy(cells=7), "no time", ("Seven matrices, the paper has eight.",)),
    },
    cells=cells,
    measure=measure,
    plot=plot,
    claims=claims,
)
