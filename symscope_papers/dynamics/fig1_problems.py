"""The three problems of Fig. 1, with networks of the paper's sizes or small ones, for questions beyond it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from symscope.dynamics import TrainingProblem
from symscope.dynamics.averaged_elements import drawn_elements
from symscope.errors import InputError
from symscope.groups import CompactGroup
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.permutation.measure import graph_problem
from symscope_papers.dynamics.rotation.config import Rotation
from symscope_papers.dynamics.rotation.measure import mask_problem
from symscope_papers.dynamics.translation.config import Translation
from symscope_papers.dynamics.translation.measure import digit_problem

TASKS = ("permutation", "translation", "rotation")
SIZES = ("paper", "small")
GRAPHS = {
    "paper": Permutation(),
    "small": Permutation(nodes=6, channels=4, invariant=8, hidden=4, batch=20),
}
DIGITS = {
    "paper": Translation(),
    "small": Translation(size=4, channels=(2, 2), invariant=4, mnist="sample", batch=20),
}
SHAPES = {
    "paper": Rotation(),
    "small": Rotation(size=6, channels=(3, 3, 2), batch=20),
}


def fig1_problem(
    task: str, sizes: str, samples: int, *, mnist: str, seed: int, device: str
) -> TrainingProblem:
    """Network, loss and the first samples of one task, in float64.

    Args:
        task: "permutation", "translation" or "rotation".
        sizes: "paper" for the networks of App. C, "small" for ones of the same make.
        samples: Number of samples; those that do not fill a mini-batch are left out.
        mnist: Digits of the translation task, as `symscope_papers.digits.digits` takes them.
        seed: Seed for drawing graphs and shapes.
        device: Device of the samples.

    >>> problem = fig1_problem("rotation", "small", 40, mnist="sample", seed=0, device="cpu")
    >>> problem.x.shape, problem.network.parameters
    (torch.Size([2, 20, 36]), 28512)
    """
    if task == "permutation":
        return graph_problem(replace(GRAPHS[sizes], graphs=samples), seed, torch.float64, device)
    if task == "translation":
        digits = replace(DIGITS[sizes], images=samples, mnist=mnist)
        return digit_problem(digits, seed, torch.float64, device)
    if task == "rotation":
        return mask_problem(replace(SHAPES[sizes], images=samples), seed, torch.float64, device)
    raise InputError(f"task: expected one of {', '.join(TASKS)}, got {task!r}")


def averaged(problem: TrainingProblem, most: int, generator: torch.Generator) -> list[Any] | None:
    """Elements to average over: None, for all of them, where they are few, else so many random ones."""
    group = problem.network.group
    if not isinstance(group, CompactGroup) and group.order <= most:
        return None
    return drawn_elements(group, most, generator)
