"""How many transformations would be enough: the same question with coarser and finer groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

from torch import Tensor

from symscope.data import Action, parse_action
from symscope.errors import InputError
from symscope.forecasting._expectation import expectation
from symscope.forecasting._kernel_choice import Tangent
from symscope.forecasting._question import Problem, drawn

ORDERS = (2, 4, 8, 16, 32, 64)


@final
@dataclass(frozen=True)
class Density:
    """The forecast with another number of transformations.

    Attributes:
        group: Its name.
        transformations: Elements of the group.
        accuracy: Mean over classes.
        per_class: Items of each class it was computed with.
    """

    group: str
    transformations: int
    accuracy: float
    per_class: int


def densities(
    problem: Problem, tangent: Tangent, per_class: int, seed: int, target: float, effort: float
) -> tuple[Density, ...]:
    """The forecast for coarser and finer groups of the same family, until the target or the budget is met.

    Args:
        problem: What is asked.
        tangent: The kernel.
        per_class: Items of each class; fewer are taken where that keeps a group within the budget.
        seed: Of items and weights.
        target: Accuracy at which finer groups need not be tried.
        effort: Multiplies the budget.

    Returns:
        One entry per group, by size; none if the action has no family.
    """
    kernel = tangent.kernel(seed)
    classes = len(problem.data.classes)
    found: list[Density] = []
    for action in family(problem):
        order = action.group.order
        items = next(
            (k for k in range(per_class, 0, -1) if tangent.affordable(k * classes * order, effort)), 0
        )
        if items == 0:
            break
        found.append(_density(replace(problem, action=action), kernel, items, seed))
        if found[-1].accuracy >= target and order >= problem.group.order:
            break
    return tuple(found)


def family(problem: Problem) -> tuple[Action, ...]:
    """Actions of the same kind by smaller and larger groups, in order; none if there is no such family.

    >>> from symscope.data import mnist_sample
    >>> from symscope.forecasting._question import as_problem
    >>> [a.group.name for a in family(as_problem(mnist_sample(), "C4 shift-x"))]
    ['C2', 'C4', 'C7', 'C14', 'C28']
    """
    if problem.family is None:
        return ()
    plain = problem.family.partition(":")[0]
    mirrored = problem.group.cyclic_factors is None
    side = problem.shape[-2 if plain == "shift-y" else -1]
    orders = [n for n in range(2, side + 1) if side % n == 0] if plain.startswith("shift") else list(ORDERS)
    steps = problem.group.order // 2 if mirrored else problem.group.order
    made = []
    for n in sorted({*orders, steps}):
        try:
            made.append(parse_action(problem.family, f"{'D' if mirrored else 'C'}{n}", problem.shape[-2:]))
        except InputError:  # a step that does not fit this image
            continue
    return tuple(made)


def enough(found: tuple[Density, ...], target: float) -> Density | None:
    """The smallest group from which on the target is reached, or None.

    >>> rows = [Density("C2", 2, 1.0, 1), Density("C4", 4, 0.4, 1), Density("C8", 8, 0.95, 1)]
    >>> enough(tuple(rows), 0.9).group
    'C8'
    """
    last = next((k for k in reversed(range(len(found))) if found[k].accuracy < target), -1)
    return found[last + 1] if last + 1 < len(found) else None


def _density(problem: Problem, kernel: Callable[[Tensor], Tensor], items: int, seed: int) -> Density:
    draw = drawn(problem, items, seed)
    found = expectation(kernel(draw.flat), draw, problem.group)
    return Density(problem.group.name, problem.group.order, float(found.accuracy.mean()), items)
