"""Which remedies there are, and which samples and elements they are fitted to and judged on."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import final

import torch
from jaxtyping import Bool, Int64
from torch import Tensor, nn

from symscope.auditing._audit_plan import move_time, pass_time
from symscope.auditing._data_symmetry import DataSymmetry
from symscope.auditing._fitted_repairs import (
    BATCH,
    LEAST_STEPS,
    fine_tuned,
    orbit_inputs,
    projected,
    refitted,
)
from symscope.auditing._group_modules import Averaged, Canonical, data_frame
from symscope.auditing._mask_data import AuditData, MaskData
from symscope.auditing._measurement import tried_elements
from symscope.auditing._subject import Subject
from symscope.auditing._symmetry_advice import elements_to_want
from symscope.data import LabelledData
from symscope.dynamics import DeclaredNetwork
from symscope.numerics import seeded

MEASURED = 12  # elements that samples are moved by to measure, at most
AVERAGED = 16  # elements of an average, at most
JUDGED = 1000  # samples to judge, at most
LEAST_JUDGED = 24  # samples to judge, however long they take
LEAST_FITTED = 64  # samples to refit, however long they take
BACKWARD = 3  # times a forward pass that a step of training takes
REMEDIES = 8  # among which the time is divided
FITTED = 1000  # samples to fit, at most
TIMED = 16  # samples whose forward pass is timed
LONG = 0.5  # seconds: what takes longer is timed once


@final
@dataclass(frozen=True)
class Remedy:
    """A remedy before it is tried.

    Attributes:
        name: What it does.
        make: Gives the repaired network and settings in words.
        does_not_fix: What stays as it was.
        passes: Forward passes for one answer.
        moves: Times that a sample is moved for one answer.
        fitted: Samples it is fitted to.
        needs_targets: Whether it is fitted to classes or targets.
        making: Seconds that making it takes at least.
    """

    name: str
    make: Callable[[], tuple[nn.Module, str]]
    does_not_fix: str
    passes: int = 1
    moves: int = 0
    fitted: int = 0
    needs_targets: bool = False
    making: float = 0.0


def wanted_elements(subject: Subject, found: DataSymmetry | None) -> tuple[tuple[int, ...], str]:
    """Elements to repair for, the identity first, and why nothing should be repaired, where that is so.

    Elements under which labels survive: that the data does not show them is no reason to leave them out,
    because whoever asks for a repair will meet them.
    """
    group = subject.action.group
    everyone = (group.identity, *subject.others)
    changed = [] if found is None else [one for one in found.targets if one.verdict == "changes"]
    if found is None or not (found.labels or changed):
        return everyone, ""
    alike = [replace(one, verdict="same") for one in found.elements]
    wanted = elements_to_want(group, alike, found.labels, found.targets, ())
    if len(wanted) > 1:
        return tuple(g for g in everyone if g in wanted), ""
    if not found.labels:
        return (
            everyone,
            f"{'masks' if isinstance(subject.data, MaskData) else 'numbers'} change when samples are moved "
            f"by {subject.element_name(changed[0].element)}",
        )
    pair = found.labels[0]
    first, second = (
        str(label) if subject.class_names is None else subject.class_names[label]
        for label in (pair.first, pair.second)
    )
    moved = f"{first} moved by {subject.element_name(pair.element)}"
    return everyone, f"labels do not survive: {moved} can hardly be told from {second}"


@final
@dataclass(frozen=True, eq=False)
class RepairPlan:
    """Samples and elements of all remedies.

    Attributes:
        elements: Elements wanted, the identity included.
        measured: Elements that samples are moved by to measure, without the identity.
        averaged: Elements of averages and searches.
        fitted: Samples to fit.
        judged: Samples to measure on.
        seconds: Time for everything.
        pass_seconds: Time to move one sample and pass it through the network.
        move_seconds: Time to move one sample.
    """

    elements: tuple[int, ...]
    measured: tuple[int, ...]
    averaged: tuple[int, ...]
    fitted: AuditData
    judged: AuditData
    seconds: float | int
    pass_seconds: float
    move_seconds: float = 0.0

    def answer_seconds(self, remedies: Sequence[Remedy]) -> float:
        """Time to move a sample and to ask the network, and it after each of the remedies."""
        once = self.pass_seconds - self.move_seconds
        later = [one.passes * once + (1 + one.moves) * self.move_seconds for one in remedies]
        return max(1e-9, self.pass_seconds + sum(later))

    def tried(self, remedies: Sequence[Remedy]) -> Bool[Tensor, "m k"]:
        """Elements by which each sample is moved to measure the network before and after remedies.

        All where the time allows it, else two of them: many samples tell more than many elements of a few.
        """
        possible = int(self.seconds / 2 / self.answer_seconds(remedies))
        elements = len(self.measured)
        each = elements if possible >= LEAST_JUDGED * (1 + elements) else min(2, elements)
        count = min(len(self.judged), max(LEAST_JUDGED, possible // (1 + each)))
        return tried_elements(count, elements, each)

    def first_fitted(self, passes: int, least: int) -> AuditData:
        """As many samples to fit as the time allows, where each takes so many passes."""
        count = min(len(self.fitted), max(least, self.passes() // passes))
        return self.fitted.take(torch.arange(count))

    def passes(self) -> int:
        """Forward passes in half of the time for one remedy."""
        return int(self.seconds / 2 / REMEDIES / max(self.pass_seconds, 1e-9))


def repair_plan(subject: Subject, elements: tuple[int, ...], seconds: float | int, seed: int) -> RepairPlan:
    """Halves of the samples, and elements to move them by."""
    averaged = _thinned(subject, elements, AVERAGED)
    measured = tuple(
        g for g in _thinned(subject, elements, MEASURED + 1) if g != subject.action.group.identity
    )
    each, move = pass_time(subject), move_time(subject)
    fit, judge = _halves(subject.data, seed)
    return RepairPlan(
        elements,
        measured,
        averaged,
        subject.data.take(fit[:FITTED]),
        subject.data.take(judge[:JUDGED]),
        seconds,
        each + move,
        move,
    )


def _halves(data: AuditData, seed: int) -> tuple[Int64[Tensor, "a"], Int64[Tensor, "b"]]:
    """Positions to fit and to judge, in random order, every class in equal parts."""
    order = torch.randperm(len(data), generator=seeded(seed, 7))
    if isinstance(data, LabelledData):
        by_class = order[data.labels[order].argsort(stable=True)]
        fit, judge = by_class[::2], by_class[1::2]
        mixed = (
            torch.randperm(len(fit), generator=seeded(seed, 8)),
            torch.randperm(len(judge), generator=seeded(seed, 9)),
        )
        return fit[mixed[0]], judge[mixed[1]]
    return order[::2], order[1::2]


def _thinned(subject: Subject, elements: tuple[int, ...], limit: int) -> tuple[int, ...]:
    """At most so many elements, evenly apart; a subgroup where one has so many."""
    if len(elements) <= limit:
        return elements
    steps = range(-(-len(elements) // limit), len(elements))
    group = subject.action.group
    chosen = [tuple(sorted(elements)[::step]) for step in steps if len(elements) % step == 0]
    closed = [one for one in chosen if len(group.subgroup(one)) == len(one) > 1]
    return closed[0] if closed else tuple(sorted(elements)[:: steps[0]])


def possible_remedies(
    subject: Subject, plan: RepairPlan, scored: bool, steps: int, seed: int
) -> list[Remedy]:
    """What can be tried on this network, the cheapest to make first.

    Args:
        subject: The network, samples and actions.
        plan: Samples and elements.
        scored: Whether labels say which outputs are right.
        steps: Most steps of fine-tuning.
        seed: Seed for fine-tuning.
    """
    classes = isinstance(subject.data, LabelledData) and scored
    shape = tuple(subject.data.x.shape[1:]) if subject.layout == "flat" else None
    module, action, target = subject.module, subject.action, subject.target
    budget = plan.seconds / 5

    def averaged(elements: tuple[int, ...]) -> Callable[[], tuple[nn.Module, str]]:
        def make() -> tuple[nn.Module, str]:
            soft = classes and _averages_better_soft(subject, plan, elements)
            made = Averaged(
                copy.deepcopy(module), action, target, elements=elements, probabilities=soft, shape=shape
            )
            kind = "probabilities" if soft else "logits" if classes else "outputs"
            return made, f"mean of {kind}"

        return make

    def canonical(confident: bool) -> Callable[[], tuple[nn.Module, str]]:
        def make() -> tuple[nn.Module, str]:
            frame = None if confident else data_frame(subject.inputs(plan.fitted.x))
            made = Canonical(
                copy.deepcopy(module), action, target, elements=plan.averaged, frame=frame, shape=shape
            )
            return made, "" if frame is None else f"{len(frame[1])} directions of {len(plan.fitted)} samples"

        return make

    interpolation = "what interpolation changes, transformations between these elements"
    if len(action.group.subgroup(plan.averaged)) > len(plan.averaged):
        interpolation += "; they are no group, so that moving a sample still changes its answer"
    half = _thinned(subject, plan.averaged, max(2, len(plan.averaged) // 2))
    remedies = [
        Remedy(
            f"average over {len(elements)} elements",
            averaged(elements),
            f"The layers stay as they are, an answer costs {len(elements)} passes; {interpolation}.",
            len(elements),
            len(elements) - 1,
            len(_choosing(plan, elements)) if classes else 0,
        )
        for elements in dict.fromkeys((plan.averaged, half))
        if len(elements) > 1
    ]
    pose = "A pose taken wrongly is a wrong answer, and answers jump where two poses look alike;"
    if classes:
        remedies.append(
            Remedy(
                "canonical pose, the network's most confident",
                canonical(True),
                f"{pose} {interpolation}.",
                len(plan.averaged),
                len(plan.averaged) - 1,
            )
        )
    remedies.append(
        Remedy(
            "canonical pose, nearest to the data",
            canonical(False),
            f"{pose} {interpolation}.",
            moves=len(plan.averaged),
            fitted=len(plan.fitted),
        )
    )
    learned = "Nothing is guaranteed: other samples, and elements not trained on, may have a larger error."

    points = int(plan.seconds / 20 / max(plan.move_seconds * len(plan.elements), 1e-9))
    orbits = plan.fitted.take(torch.arange(min(len(plan.fitted), max(LEAST_FITTED, points))))

    once = plan.pass_seconds - plan.move_seconds
    steps_time = LEAST_STEPS * min(BATCH, len(orbits)) * BACKWARD * once
    tuning = len(orbits) * len(plan.elements) * plan.move_seconds + steps_time

    moved = cache(partial(orbit_inputs, subject, orbits, plan.elements))  # both trainings see the same

    def tuned(penalty: bool) -> tuple[nn.Module, str]:
        return fine_tuned(
            subject,
            orbits,
            plan.elements,
            penalty=penalty,
            seconds=budget,
            seed=seed,
            steps=steps,
            points=moved(),
        )

    refit, everyone = plan.first_fitted(len(plan.averaged), LEAST_FITTED), len(orbits)
    remedies += [
        Remedy(
            "refit of the last layer",
            lambda: refitted(subject, refit, plan.averaged),
            "All layers before the last stay as they are.",
            fitted=len(refit),
            needs_targets=True,
            making=len(refit) * len(plan.averaged) * plan.pass_seconds,
        ),
        Remedy("fine-tuning with augmentation", lambda: tuned(False), learned, 1, 0, everyone, True, tuning),
        Remedy("fine-tuning with a penalty", lambda: tuned(True), learned, 1, 0, everyone, True, tuning),
    ]
    if isinstance(getattr(module, "network", None), DeclaredNetwork):
        made = Remedy(
            "projection of declared layers",
            lambda: projected(subject),
            "What the layers need to answer well is not learned again.",
        )
        remedies.append(made)
    return remedies


def affordable_remedies(plan: RepairPlan, remedies: list[Remedy]) -> list[Remedy]:
    """Those that the least number of samples can be measured with in the time, the cheapest first of all."""
    chosen: list[Remedy] = []
    for one in sorted(remedies, key=lambda one: one.making + 3 * LEAST_JUDGED * plan.answer_seconds([one])):
        making = one.making + sum(other.making for other in chosen)
        if making + 3 * LEAST_JUDGED * plan.answer_seconds([*chosen, one]) <= plan.seconds:
            chosen.append(one)
    return chosen


def _choosing(plan: RepairPlan, elements: tuple[int, ...]) -> AuditData:
    """Samples that choose between means of logits and of probabilities."""
    return plan.first_fitted(4 * len(elements), least=16)


def _averages_better_soft(subject: Subject, plan: RepairPlan, elements: tuple[int, ...]) -> bool:
    """Whether the mean of probabilities is right more often than the mean of logits, on samples to fit."""
    few = _choosing(plan, elements)
    assert isinstance(few, LabelledData)
    outs = torch.stack([subject.outputs(subject.moved(g, few.x)) for g in elements])
    if outs.shape[2] == 1:
        return False
    right = [
        float((one.argmax(1) == few.labels).double().mean())
        for one in (outs.mean(0), outs.softmax(2).mean(0))
    ]
    return right[1] > right[0]


def pass_seconds(subject: Subject, module: nn.Module, count: int = TIMED) -> float:
    """Time of one answer of a network for a few samples."""
    return _shortest(lambda: subject.outputs(subject.data.x[:count], module))


def _shortest(call: Callable[[], object]) -> float:
    """The shortest time of three calls, after one that loads what is needed; a long one is made once."""
    times: list[float] = []
    while len(times) < 4 and sum(times) < LONG:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times[1:] or times)
