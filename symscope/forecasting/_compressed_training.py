"""A whole training compressed into a fraction of its cost: smaller batches, then a higher learning rate.

What a network learns of a symmetry depends on how far its weights travel, and an optimiser moves them by
about the sum of its learning rates. A pilot that sees a tenth of the points in steps of a tenth of the batch
takes as many steps as the whole training; where smaller batches save no time, or batch norm needs larger
ones, the learning rate makes up for missing steps as far as it may.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from symscope.numerics import checked, explained
from symscope.training import StepPlan

SMALLEST_BATCH = 4
SMALLEST_NORMALISED = 16  # with batch norm, whose means and variances fewer points do not give
FASTER = {"adam": 2.5, "sgd": 1.0}  # learning rate at most, over that of the whole training
ABOUT = 0.1  # difference in progress that decides nothing
POINTS_PART = 0.7  # of what a pilot has seen, against how far it has gone, in how much it has learned


@checked
@final
@dataclass(frozen=True)
class StepCost:
    """What a step costs by its batch, in steps of the whole one: `fixed + (1 - fixed) * batch / whole`.

    Attributes:
        fixed: Part of the time of a step that smaller batches do not save: 0 where the arithmetic takes
            all of it, 1 where starting it does, as for small networks on a GPU.
        smallest: Points in a batch at least.

    >>> StepCost(0.5, 8).of(32, whole=128)
    0.625
    """

    fixed: float = 0.0
    smallest: int = SMALLEST_BATCH

    @classmethod
    def measured(cls, smallest: int, whole: int, ratio: float) -> StepCost:
        """From the time of a step of the smallest batch over that of a whole one.

        In tenths, so that the same question asked again on the same machine is planned in the same way.

        >>> StepCost.measured(16, 128, ratio=0.31)
        StepCost(fixed=0.2, smallest=16)
        """
        share = min(1.0, smallest / whole)
        fixed = 1.0 if share == 1 else (ratio - share) / (1 - share)
        return cls(round(min(1.0, max(0.0, fixed)), 1), smallest)

    def of(self, batch: int, whole: int) -> float:
        """Cost of a step of this batch in steps of the whole batch."""
        return self.fixed + (1 - self.fixed) * batch / whole


def smallest_batch(module: nn.Module) -> int:
    """Points that a step of a compressed training must have.

    >>> smallest_batch(nn.Linear(2, 2)), smallest_batch(nn.Sequential(nn.BatchNorm2d(3)))
    (4, 16)
    """
    normalised = any(isinstance(part, _BatchNorm) for part in module.modules())
    return SMALLEST_NORMALISED if normalised else SMALLEST_BATCH


@explained
def compressed_plan(whole: StepPlan, cost: int, step: StepCost) -> StepPlan:
    """The training that takes the time of `cost` steps of a whole one and has the most `progress_share`.

    Batches are tried from the whole one down to the smallest, with as many steps as there is time for. Where
    these are fewer than those of the whole training, the learning rate is raised, with Adam up to 2.5 times:
    the sum of learning rates over the steps is that of the whole training, or as near as that allows. Of
    plans with about as much progress the one with the most steps is taken.

    Args:
        whole: The whole training.
        cost: Steps of the whole training that it may cost.
        step: What steps cost by their batch.

    >>> from symscope.training import Optimiser
    >>> whole = StepPlan(1000, 128, Optimiser("adam", 1e-3))
    >>> plan = compressed_plan(whole, 100, StepCost())
    >>> plan.steps, plan.batch, plan.optimiser.learning_rate
    (1000, 12, 0.001)
    >>> plan = compressed_plan(whole, 100, StepCost(1.0))  # smaller batches would save nothing
    >>> plan.steps, plan.batch, plan.optimiser.learning_rate
    (100, 128, 0.0025)
    """
    if cost >= whole.steps:
        return whole
    least = min(step.smallest, whole.batch)
    batches = {max(least, whole.batch >> halvings) for halvings in range(whole.batch.bit_length())}
    if step.fixed < 1:  # the largest that leaves time for all steps
        time = max(0.0, cost / whole.steps - step.fixed) / (1 - step.fixed)
        batches.add(max(least, int(time * whole.batch)))
    plans = [_plan_of_batch(whole, cost, step, batch) for batch in batches]
    nearest = max(progress_share(whole, plan) for plan in plans)
    near = [plan for plan in plans if progress_share(whole, plan) >= (1 - ABOUT) * nearest]
    return max(near, key=lambda plan: (plan.steps, plan.batch))


def _plan_of_batch(whole: StepPlan, cost: int, step: StepCost, batch: int) -> StepPlan:
    """As many steps of a batch as there is time for, at a learning rate that makes up for missing ones."""
    steps = min(whole.steps, max(1, int(cost / step.of(batch, whole.batch))))
    faster = min(FASTER[whole.optimiser.kind], whole.steps / steps)
    rate = whole.optimiser.learning_rate * faster
    return StepPlan(steps, batch, replace(whole.optimiser, learning_rate=rate))


@explained
def progress_share(whole: StepPlan, plan: StepPlan) -> float:
    """How much of a whole training a pilot stands for: points seen and way gone, 1 for the whole.

    `points^0.7 * way^0.3`, each as a share of the whole training's; a plain training of a share of the
    steps has that share. The powers are those by which errors of pilots fall.

    >>> from symscope.training import Optimiser
    >>> whole = StepPlan(1000, 128, Optimiser("adam", 1e-3))
    >>> plain = StepPlan(100, 128, whole.optimiser)
    >>> round(progress_share(whole, plain), 3)
    0.1
    >>> round(progress_share(whole, compressed_plan(whole, 100, StepCost())), 3)
    0.191
    """
    points = plan.steps * plan.batch / (whole.steps * whole.batch)
    faster = plan.optimiser.learning_rate / whole.optimiser.learning_rate
    way = plan.steps * faster / whole.steps
    return float(min(1.0, points) ** POINTS_PART * min(1.0, way) ** (1 - POINTS_PART))
