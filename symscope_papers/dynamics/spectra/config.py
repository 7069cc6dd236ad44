"""Config of `dynamics/spectra`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_one_of, check_positive
from symscope_papers.dynamics.fig1_problems import SIZES, TASKS


@final
@dataclass(frozen=True)
class Spectra:
    """Config of `dynamics/spectra`.

    Attributes:
        tasks: Experiments of Fig. 1, by their group.
        sizes: "paper" for the networks of App. C, "small" for ones of the same make.
        samples: Number of samples of each task.
        runs: Starts A_0 per task.
        elements: Group elements averaged over; all of them where there are no more.
        steps: Steps of training inside E before the second look.
        tolerance: Accuracy asked of the ends of the spectrum, of the largest absolute one.
        mnist: "sample" for bundled digits, "fetched" for MNIST's test set, or a folder with its files.
    """

    tasks: tuple[str, ...] = TASKS
    sizes: str = "paper"
    samples: int = 200
    runs: int = 3
    elements: int = 256
    steps: int = 200
    tolerance: float = 0.05
    mnist: str = "fetched"

    def __post_init__(self) -> None:
        check_one_of(self, TASKS, "tasks")
        check_one_of(self, SIZES, "sizes")
        check_at_least(self, 1, "samples", "runs", "steps")
        check_at_least(self, 4, "elements")
        check_positive(self, "tolerance", below=1)
