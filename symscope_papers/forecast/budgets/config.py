"""Config of `forecast/budgets`, and its cases."""

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
from symscope_papers.forecast.budgets.data import DATASETS
from symscope_papers.forecast.budgets.networks import NETWORKS

LENGTHS = ("seconds", "minutes")  # of the whole trainings that a forecast replaces, on one core
HELD_OUT = ("mixer", "separable", "lstm", "edge-conv")  # every case with one of these networks, and no other


@final
@dataclass(frozen=True)
class Budgets:
    """Config of `forecast/budgets`.

    Attributes:
        length: "seconds" or "minutes": how long the whole trainings of the cases take.
        data: Data sets whose cases are measured.
        networks: Networks whose cases are measured.
        shares: Budgets of the forecasts, as shares of the time of the trainings they replace, ascending.
        left_out: Classes of a sweep for which networks are trained, spread over all.
        samples: Samples of each class; 0 for those of the list.
        steps: Steps of a whole training; 0 for those of the list.
    """

    length: str = "seconds"
    data: tuple[str, ...] = tuple(DATASETS)
    networks: tuple[str, ...] = tuple(NETWORKS)
    shares: tuple[float, ...] = (0.03, 0.1, 0.3)
    left_out: int = 3
    samples: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        check_one_of(self, LENGTHS, "length")
        check_one_of(self, DATASETS, "data")
        check_one_of(self, NETWORKS, "networks")
        check_distinct(self, "data", "networks")
        check_increasing(self, "shares")
        check_between(self, 0.001, 10.0, "shares")
        check_at_least(self, 1, "left_out")
        check_at_least(self, 0, "samples", "steps")


def budget_cases() -> list[dict[str, Any]]:
    """Every case: data, network, action, coverage, samples, steps (0: the default), length, whether held out.

    >>> [name for name in budget_cases()[0]]
    ['data', 'network', 'action', 'coverage', 'samples', 'steps', 'length', 'held_out']
    """
    text = (resources.files("symscope_papers.forecast.budgets") / "cases.csv").read_text(encoding="utf-8")
    return [
        row
        | {
            "samples": int(row["samples"]),
            "steps": int(row["steps"]),
            "held_out": row["held_out"] == "yes",
        }
        for row in csv.DictReader(text.splitlines())
    ]


def chosen_cases(config: Budgets) -> list[dict[str, Any]]:
    """The cases that a config asks for, with its samples and steps."""
    own = {name: value for name in ("samples", "steps") if (value := getattr(config, name))}
    return [
        case | own
        for case in budget_cases()
        if case["length"] == config.length
        and case["data"] in config.data
        and case["network"] in config.networks
    ]
