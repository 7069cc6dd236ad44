"""Which pilot trainings a budget allows, one after another or several at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

from symscope.forecasting._compressed_training import StepCost, compressed_plan, progress_share
from symscope.numerics import explained
from symscope.training import StepPlan

RATIO = 3  # the longer of two trainings over the shorter
FEWEST_STEPS = 30  # of the longer one, of the smallest batch: fewer show nothing of how it goes on
REPEATS = 3  # longer trainings at most, where they replace many or there is time
FORWARD = 1 / 3  # a forward pass alone over one with gradients
REFITTED = 0.2  # of the cost of a training, at most, for passing points through it to fit its last layer
ENOUGH = 4  # a quarter of the cost of a whole training says as much as the whole: rather repeat than go on


@final
@dataclass(frozen=True)
class PilotPlan:
    """Which trainings a budget allows.

    Attributes:
        lengths: Cost of the trainings of the network as it is, in steps of a whole one: of one, or of a
            shorter and a longer one.
        repeats: How often the longer is run, each time with other elements missing and other weights.
        designs: Trainings of each length in one repeat.
        whole: Whole training that is forecast.
        replaced: Whole trainings that would answer the question without a forecast.
        tried: Cost of the training of a remedy.
        remedies: Further networks that there is time for.
        seconds: Estimated time, remedies included.
        step: What steps cost by their batch.
        points: Points of the training data that the last layer of each pilot may be fitted to; 0 where it
            stays as it was trained.
        step_seconds: Seconds of a step of the whole training.

    >>> from symscope.training import Optimiser
    >>> whole = StepPlan(1000, 128, Optimiser("adam", 1e-3))
    >>> plan = PilotPlan((30, 90), 1, 1, whole, 1, 30, 0, 1.2, StepCost(0.05))
    >>> plan.text.partition("(")[2].partition(")")[0]
    'the longer: 533 steps of 16 points at 1.9 times the learning rate'
    """

    lengths: tuple[int, ...]
    repeats: int
    designs: int
    whole: StepPlan
    replaced: int
    tried: int
    remedies: int
    seconds: float
    step: StepCost
    points: int = 0
    step_seconds: float = field(default=0.0, repr=False)

    @property
    def full(self) -> int:
        """Steps of a whole training."""
        return self.whole.steps

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Cost and number of each repeat of all designs, the shorter first."""
        longest = [(self.lengths[-1], repeat) for repeat in range(self.repeats)]
        return [*((cost, 0) for cost in self.lengths[:-1]), *longest]

    @property
    def trainings(self) -> tuple[StepPlan, ...]:
        """The trainings of the network as it is."""
        return tuple(map(self.compressed, self.lengths))

    def compressed(self, cost: int) -> StepPlan:
        """A whole training compressed to what fitting the last layer leaves of a cost."""
        return compressed_plan(self.whole, self._trained(cost), self.step)

    def plain(self, cost: int) -> StepPlan:
        """A training of the batch and learning rate of the whole one at the same cost.

        It takes the place of a compressed one that diverges.
        """
        return StepPlan(min(self._trained(cost), self.full), self.whole.batch, self.whole.optimiser)

    def refitted(self, cost: int) -> int:
        """Points that the last layer is fitted to after a training of a cost; 0 after the whole training.

        >>> from symscope.training import Optimiser
        >>> whole = StepPlan(1000, 128, Optimiser("adam", 1e-3))
        >>> plan = PilotPlan((30, 90), 1, 1, whole, 1, 30, 0, 1.2, StepCost(), points=4000)
        >>> plan.refitted(30), plan.refitted(90), plan.compressed(90).steps * plan.compressed(90).batch
        (2304, 4000, 10000)
        """
        if cost >= self.full:
            return 0
        return min(self.points, int(REFITTED * cost * self.whole.batch / FORWARD))

    def _trained(self, cost: int) -> int:
        """What fitting the last layer leaves of a cost, in steps of the whole training."""
        return max(1, round(cost - FORWARD * self.refitted(cost) / self.whole.batch))

    @property
    def text(self) -> str:
        """What is trained, and what is predicted from it, in words."""
        several, last = len(self.lengths) > 1, self.trainings[-1]
        costs = " and ".join(f"{length:,}" for length in self.lengths)
        times = f" ({'the longer ' * several}{self.repeats} times)" if self.repeats > 1 else ""
        begin = (
            f"Pilot trainings at the cost of {costs} steps{times}, each with its learning rate run down to 0"
        )
        longer = "the longer" if several else "it"
        if last == self.whole:
            return f"{begin}; {longer} is the whole training, {self.full:,} steps of {last.batch} points"
        faster = last.optimiser.learning_rate / self.whole.optimiser.learning_rate
        rate = "the same learning rate" if faster == 1 else f"{faster:.2g} times the learning rate"
        fitted = self.refitted(self.lengths[-1])
        refitted = f", its last layer then fitted to {fitted:,} points" if fitted else ""
        return (
            f"{begin} ({longer}: {last.steps:,} steps of {last.batch} points at {rate}{refitted}), and what "
            f"{self.full:,} steps of {self.whole.batch} points are predicted to reach"
        )

    @property
    def progress(self) -> float:
        """How much of a whole training the longer pilot stands for."""
        return progress_share(self.whole, self.trainings[-1])

    @property
    def plain_progress(self) -> float:
        """The same where a plain training took its place."""
        return progress_share(self.whole, self.plain(self.lengths[-1]))

    @property
    def suffices(self) -> bool:
        """Whether more time is better spent on remedies: a quarter of a whole training, as often as pays."""
        often = 1 if self.replaced == 1 else most_repeats(self.replaced)
        return self.lengths[-1] >= self.full // ENOUGH and self.repeats >= often

    @property
    def steps(self) -> int:
        """Cost of all trainings of the network as it is, in steps of a whole one."""
        return (sum(self.lengths[:-1]) + self.lengths[-1] * self.repeats) * self.designs

    @property
    def cost(self) -> float:
        """That as a share of the trainings that it replaces."""
        return self.steps / (self.full * self.replaced)


@explained
def pilot_plan(
    step_seconds: float,
    whole: StepPlan,
    designs: int,
    replaced: int,
    budget: float,
    asked_steps: float = 0.0,
    remedies: int = 0,
    at_once: int = 1,
    step: StepCost | None = None,
    points: int = 0,
    several: bool = True,
) -> PilotPlan | None:
    """The trainings that fit a budget; None if not even the shortest do.

    Args:
        step_seconds: Seconds of one step of the whole training.
        whole: Whole training.
        designs: Trainings that answer for every class once.
        replaced: Trainings that would answer without a forecast.
        budget: Seconds.
        asked_steps: What asking a trained network costs, in steps.
        remedies: Further networks, each trained for a third of the longer length.
        at_once: Trainings that run at a time, each with steps of `step_seconds`.
        step: What steps cost by their batch.
        points: Points of the training data that the last layer of each pilot may be fitted to.
        several: Whether the network as it is has a training of a third of the length too.

    >>> from symscope.training import Optimiser
    >>> whole = StepPlan(1000, 128, Optimiser("adam", 1e-3))
    >>> pilot_plan(0.01, whole, designs=1, replaced=1, budget=4.0, several=False).lengths
    (400,)
    >>> plan = pilot_plan(0.01, whole, designs=1, replaced=1, budget=4.0)
    >>> plan.lengths, plan.repeats, plan.cost, [one.batch for one in plan.trainings]
    ((100, 300), 1, 0.4, [12, 38])
    >>> plan = pilot_plan(0.01, whole, designs=1, replaced=10, budget=11.2)  # about one whole training
    >>> plan.lengths, plan.repeats
    ((112, 336), 3)
    >>> pilot_plan(0.01, whole, 1, 10, 35.0).lengths, pilot_plan(1.0, whole, 1, 10, 1.0)
    ((333, 1000), None)
    >>> pilot_plan(0.01, whole, 1, 1, 28.0).repeats  # two whole trainings, as seeds differ
    2
    >>> pilot_plan(0.01, whole, 1, 1, 4.0, at_once=2).lengths  # the longer alone takes all of it
    (133, 400)
    """
    affordable, short, full = budget / step_seconds, (several + remedies) * designs, whole.steps

    def longest(repeats: int) -> int:
        return min(
            int(RATIO * (affordable - (many + few) * asked_steps) / (RATIO * many + few))
            for many, few in _shares(repeats * designs, short, at_once)
        )

    most, enough = (REPEATS, full) if replaced == 1 else (most_repeats(replaced), full // ENOUGH)
    again = (count for count in range(most, 1, -1) if longest(count) >= enough)
    repeats = next(again, 1)
    step = step or StepCost()
    longer = min(longest(repeats), full)
    if longer < fewest_steps(whole, step):
        return None
    tried = max(1, longer // RATIO)
    seconds = _spent((tried, longer), repeats * designs, short, asked_steps, at_once) * step_seconds
    lengths = (tried, longer) if several else (longer,)
    planned = (lengths, repeats, designs, whole, replaced, tried, remedies, seconds, step, points)
    return PilotPlan(*planned, step_seconds)


def most_repeats(replaced: int) -> int:
    """Longer trainings at most in the place of many: up to a third of those, more would be no forecast.

    >>> most_repeats(2), most_repeats(7), most_repeats(10)
    (1, 2, 3)
    """
    return max(1, min(REPEATS, replaced // 3))


def fewest_steps(whole: StepPlan, step: StepCost) -> int:
    """What a pilot costs at least, in steps of the whole training.

    >>> from symscope.training import Optimiser
    >>> fewest_steps(StepPlan(1000, 128, Optimiser("adam", 1e-3)), StepCost(0.0, 8))
    2
    """
    cost = step.of(min(step.smallest, whole.batch), whole.batch)
    return min(math.ceil(FEWEST_STEPS * cost), whole.steps)


def smallest_budget(
    step_seconds: float,
    whole: StepPlan,
    step: StepCost,
    designs: int,
    asked_steps: float = 0.0,
    at_once: int = 1,
    several: bool = True,
) -> float:
    """The seconds from which on `pilot_plan` finds a plan without remedies.

    >>> from symscope.training import Optimiser
    >>> whole = StepPlan(1000, 128, Optimiser("adam", 1e-3))
    >>> smallest_budget(1.0, whole, StepCost(), designs=1), pilot_plan(1.0, whole, 1, 10, 2.0).lengths
    (2.0, (1, 1))
    """
    fewest = fewest_steps(whole, step)
    lengths = (max(1, fewest // RATIO), fewest)
    return _spent(lengths, designs, several * designs, asked_steps, at_once) * step_seconds


def _shares(long: int, short: int, at_once: int) -> list[tuple[int, int]]:
    """How many longer and shorter trainings each worker has, the longer ones dealt first.

    >>> _shares(1, 5, at_once=2), _shares(1, 1, at_once=4)
    ([(1, 1), (0, 4)], [(1, 0), (0, 1)])
    """
    shares = [(0, 0)] * at_once
    for kind in [(1, 0)] * long + [(0, 1)] * short:
        least = min(range(at_once), key=lambda k: RATIO * shares[k][0] + shares[k][1])
        shares[least] = (shares[least][0] + kind[0], shares[least][1] + kind[1])
    return [share for share in shares if any(share)]


def _spent(lengths: tuple[int, int], long: int, short: int, asked_steps: float, at_once: int) -> float:
    """Steps until the last worker is done, questions included."""
    shares = _shares(long, short, at_once)
    return max(many * (lengths[1] + asked_steps) + few * (lengths[0] + asked_steps) for many, few in shares)
