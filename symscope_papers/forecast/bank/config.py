"""Config of `forecast/bank`, and its cases."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from typing import Any, final

from symscope_papers.config_bounds import (
    check_at_least,
    check_between,
    check_distinct,
    check_increasing,
    check_one_of,
)
from symscope_papers.forecast.bank.data import DATASETS
from symscope_papers.forecast.bank.kinds import EXPORTED
from symscope_papers.forecast.bank.networks import NETWORKS

SIZES = (25, 100, 400, 900, 1000)


@final
@dataclass(frozen=True)
class Bank:
    """Config of `forecast/bank`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        fashion: A folder with the files of Fashion-MNIST, "" to leave it out.
        cifar: A folder with train.npz and test.npz of CIFAR-10, "" to leave it out.
        exported: A folder with the files of `python -m symscope_papers.forecast.bank.export`, "" to leave
            power demand and molecules out.
        data: Data sets whose cases are measured.
        networks: Networks whose cases are measured.
        samples: Samples of each class whose cases are measured.
        costs: Steps of the forecasts, as a share of those of the trainings they replace, ascending.
        left_out: Classes of a sweep for which networks are trained, spread over all.
        steps: Steps of a whole training; 0 for the library's default.
        kernel_seconds: Time that kernel regression on all samples may take, by the estimate.
        trainings: Whether whole trainings follow; without, forecasts alone are made anew, for cases whose
            trainings are kept.
    """

    mnist: str = "fetched"
    fashion: str = ""
    cifar: str = ""
    exported: str = ""
    data: tuple[str, ...] = tuple(DATASETS)
    networks: tuple[str, ...] = tuple(NETWORKS)
    samples: tuple[int, ...] = SIZES
    costs: tuple[float, ...] = (0.01, 0.03, 0.1)
    left_out: int = 2
    steps: int = 0
    kernel_seconds: float = 20.0
    trainings: bool = True

    def __post_init__(self) -> None:
        check_one_of(self, DATASETS, "data")
        check_one_of(self, NETWORKS, "networks")
        check_distinct(self, "data", "networks", "samples")
        check_increasing(self, "costs")
        check_between(self, 0.0, 1.0, "costs")
        check_at_least(self, 1, "left_out")
        check_at_least(self, 0, "steps", "kernel_seconds")


def bank_cases() -> list[dict[str, Any]]:
    """Every case of the bank: data, network, action, coverage, samples, and whether it is held out.

    >>> bank_cases()[0]
    {'data': 'mnist', 'network': 'mlp', 'action': 'C8', 'coverage': 'one', 'samples': 400, 'held_out': False}
    """
    text = (resources.files("symscope_papers.forecast.bank") / "cases.csv").read_text(encoding="utf-8")
    return [
        row | {"samples": int(row["samples"]), "held_out": row["held_out"] == "yes"}
        for row in csv.DictReader(text.splitlines())
    ]


def chosen_cases(config: Bank) -> list[dict[str, Any]]:
    """The cases that a config asks for; of data sets that have a folder."""
    places = {name: "exported" if name in EXPORTED else name for name in config.data}
    there = {name for name, place in places.items() if getattr(config, place, "given") != ""}
    return [
        case
        for case in bank_cases()
        if case["data"] in there and case["network"] in config.networks and case["samples"] in config.samples
    ]
