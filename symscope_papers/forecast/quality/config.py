"""Config of `forecast/quality`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import (
    check_at_least,
    check_between,
    check_distinct,
    check_field,
    check_increasing,
    check_one_of,
)
from symscope_papers.forecast.quality.data import DATASETS, IMAGE_ACTIONS, POINT_ACTIONS
from symscope_papers.forecast.quality.networks import NETWORKS

STEPS = 600  # of a full training at least: fewer leave small data unlearned
HELD_STEPS, HELD_LOSS = 400, 0.01  # logistic regression ends at this mean cross-entropy, or so many steps
FEWEST = 2  # classes, and samples of a class
EPOCHS = 25  # of a full training at least


@final
@dataclass(frozen=True)
class Quality:
    """Config of `forecast/quality`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        datasets: Data sets, of "mnist", "mnist-14", "digits", "points".
        actions: Actions on images: "C4", "C8", "C16", "C32" rotations, "flip", "shift", "D4".
        point_actions: Actions on sets of points: "C8", "S4".
        networks: Architectures; sets of points are given to the MLPs alone.
        skipped: Pairs "dataset:network" that are left out, because they take long.
        classes: Largest number of classes of the data.
        left_out: Largest number of classes that are left out in turn, spread over all.
        per_class: Samples of each class, fewer where points would be too many.
        points: Largest number of points in all.
        draws: Number of resamples, for the forecast's interval.
        repeats: Number of trainings that differ in seed alone.
        kernel_repeats: Number of these whose kernels are computed.
        pilots: Epochs of the short trainings, ascending.
        steps: Least steps of the full training, which takes 25 epochs or more, as the forecast's own check.
        batch: Points per step.
        logistic_steps: Steps of logistic regression with a kernel.
    """

    mnist: str = "sample"
    datasets: tuple[str, ...] = tuple(DATASETS)
    actions: tuple[str, ...] = IMAGE_ACTIONS
    point_actions: tuple[str, ...] = POINT_ACTIONS
    networks: tuple[str, ...] = tuple(NETWORKS)
    skipped: tuple[str, ...] = ()
    classes: int = 10
    left_out: int = 10
    per_class: int = 10
    points: int = 1920
    draws: int = 4
    repeats: int = 3
    kernel_repeats: int = 1
    pilots: tuple[int, ...] = (1, 3, 10)
    steps: int = STEPS
    batch: int = 32
    logistic_steps: int = HELD_STEPS

    def __post_init__(self) -> None:
        names = ("datasets", "actions", "point_actions", "networks")
        for name, known in zip(names, (DATASETS, IMAGE_ACTIONS, POINT_ACTIONS, NETWORKS), strict=True):
            check_one_of(self, known, name)
        check_distinct(self, *names)
        for pair in self.skipped:
            dataset, _, name = pair.partition(":")
            good = dataset in self.datasets and name in self.networks
            check_field(self, "skipped", good, "pairs dataset:network of those asked for")
        check_at_least(self, FEWEST, "classes", "per_class")
        check_at_least(self, 1, "left_out", "draws", "repeats", "steps", "batch", "logistic_steps")
        check_between(self, 1, self.repeats, "kernel_repeats")
        check_increasing(self, "pilots")
        check_between(self, 1, EPOCHS - 1, "pilots")
