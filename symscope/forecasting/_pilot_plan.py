"""Which pilot trainings a budget allows, one after another or several at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope.numerics import explained

RATIO = 3  # the longer of two trainings over the shorter
FEWEST_STEPS = 20  # of the shorter one: fewer show nothing of how it goes on
REPEATS = 3  # longer trainings at most, where they replace many


@final
@dataclass(frozen=True)
class PilotPlan:
    """Which trainings a budget allows.

    Attributes:
        lengths: Steps of the shorter and of the longer training, one where the longer was stopped; remedies
            are tried for the shorter.
        repeats: How often the longer is run, each time with other elements missing and other weights.
        designs: Trainings of each length in one repeat.
        full: Steps of a whole training.
        replaced: Whole trainings that would answer the question without a forecast.
        remedies: Further networks that there is time for, each trained for the shorter length.
        seconds: Estimated time, remedies included.
    """

    lengths: tuple[int, ...]
    repeats: int
    designs: int
    full: int
    replaced: int
    remedies: int
    seconds: float

    @property
    def steps(self) -> int:
        """Steps of all trainings of the network as it is."""
        return (sum(self.lengths[:-1]) + self.lengths[-1] * self.repeats) * self.designs

    @property
    def cost(self) -> float:
        """Steps as a share of those of the trainings that it replaces."""
        return self.steps / (self.full * self.replaced)


@explained
def pilot_plan(
    step_seconds: float,
    full: int,
    designs: int,
    replaced: int,
    budget: float,
    asked_steps: float = 0.0,
    remedies: int = 0,
    at_once: int = 1,
) -> PilotPlan | None:
    """The trainings that fit a budget; None if not even the shortest do.

    Args:
        step_seconds: Seconds of one step.
        full: Steps of a whole training.
        designs: Trainings that answer for every class once.
        replaced: Trainings that would answer without a forecast.
        budget: Seconds.
        asked_steps: What asking a trained network costs, in steps.
        remedies: Further networks that are trained for the shorter length.
        at_once: Trainings that run at a time, each with steps of `step_seconds`.

    >>> pilot_plan(0.01, 1000, designs=1, replaced=10, budget=4.0)
    PilotPlan(lengths=(100, 300), repeats=1, designs=1, full=1000, replaced=10, remedies=0, seconds=4.0)
    >>> pilot_plan(0.01, 1000, 1, 10, 25.0).lengths, pilot_plan(1.0, 1000, 1, 10, 60.0)
    ((333, 1000), None)
    >>> pilot_plan(0.01, 1000, 1, 10, 4.0, at_once=2).lengths  # the longer alone takes all of it
    (133, 399)
    """
    affordable, short = budget / step_seconds, (1 + remedies) * designs
    shorter = min(
        int((affordable - (many + few) * asked_steps) / (RATIO * many + few))
        for many, few in _shares(designs, short, at_once)
    )
    if shorter < min(FEWEST_STEPS, full // RATIO):
        return None
    lengths, repeats = (shorter, RATIO * shorter), 1
    if lengths[1] >= full:
        lengths = (max(1, full // RATIO), full)
        # more than a third of what it replaces would be no forecast
        fitting = (
            count
            for count in range(min(REPEATS, replaced // 3), 1, -1)
            if _spent(lengths, count * designs, short, asked_steps, at_once) <= affordable
        )
        repeats = next(fitting, 1)
    spent = _spent(lengths, repeats * designs, short, asked_steps, at_once)
    return PilotPlan(lengths, repeats, designs, full, replaced, remedies, spent * step_seconds)


def smallest_budget(step_seconds: float, designs: int, asked_steps: float = 0.0, at_once: int = 1) -> float:
    """The seconds from which on `pilot_plan` finds a plan without remedies.

    >>> smallest_budget(1.0, designs=1), pilot_plan(1.0, 1000, 1, 10, 81.0).lengths
    (81.0, (20, 60))
    """
    lengths = (FEWEST_STEPS, RATIO * FEWEST_STEPS)
    return (_spent(lengths, designs, designs, asked_steps, at_once) + designs) * step_seconds


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
