"""Config of `dynamics/ordinary`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_field, check_one_of, check_positive
from symscope_papers.dynamics.fig1_problems import SIZES, TASKS


@final
@dataclass(frozen=True)
class Ordinary:
    """Config of `dynamics/ordinary`.

    Attributes:
        tasks: Experiments of Fig. 1, by their group.
        sizes: "paper" for the networks of App. C, "small" for ones of the same make.
        samples: Number of samples of each task, a quarter of them held out.
        runs: Starts per task.
        steps: Steps of gradient descent.
        looks: How often layers are examined, the start not counted.
        passes: Elements that AUGMENTED draws at each step, and that tests average over.
        rates: Learning rates, one per task.
        mnist: "sample" for bundled digits, "fetched" for MNIST's test set, or a folder with its files.
    """

    tasks: tuple[str, ...] = TASKS
    sizes: str = "paper"
    samples: int = 1000
    runs: int = 3
    steps: int = 400
    looks: int = 5
    passes: int = 4
    rates: tuple[float, ...] = (0.5, 0.1, 5.0)
    mnist: str = "fetched"

    def __post_init__(self) -> None:
        check_one_of(self, TASKS, "tasks")
        check_one_of(self, SIZES, "sizes")
        check_at_least(self, 1, "runs", "steps", "looks", "passes")
        check_at_least(self, 2, "samples")
        check_positive(self, "rates")
        check_field(self, "rates", len(self.rates) == len(self.tasks), "one per task")
