"""The cheapest remedies, applied to a trained network and measured on samples they were not fitted to."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import nn

from symscope._version import __version__
from symscope.auditing._data_symmetry import DataSymmetry
from symscope.auditing._fitted_repairs import STEPS
from symscope.auditing._group_modules import Averaged
from symscope.auditing._measurement import Estimate, Measurement, answer_scores, measurement, moved_samples
from symscope.auditing._remedies import (
    TIMED,
    Remedy,
    RepairPlan,
    affordable_remedies,
    pass_seconds,
    possible_remedies,
    repair_plan,
    wanted_elements,
)
from symscope.auditing._repair_files import describe_action, weights_hash
from symscope.auditing._subject import Subject
from symscope.errors import InputError
from symscope.numerics import Progress, check_count

NOT_APPLIED = ("average over the group", "canonical pose", "refit of the last layer", "fine-tuning")
LEAST_FITTED = 8  # samples
SMALL = 1e-3  # errors below it are as good as none
ROUNDING = 1e-5  # an error this small is rounding in float32


@final
@dataclass(frozen=True, eq=False)
class Repair:
    """One remedy, applied to a copy of the network, with what it changed.

    Errors and scores before and after are of the same held-out samples, the same for all remedies.
    Scores are accuracies, or root mean square errors in units of the targets.

    Attributes:
        name: What was done.
        module: The repaired network, in evaluation mode; None where the remedy was not applied.
        reason: Why it was not applied; empty where it was.
        details: Settings in words.
        does_not_fix: What stays as it was.
        recipe: Python that puts the repaired network together again.
        classes: Whether scores are accuracies; False for errors in units of the targets.
        error_before: Equivariance error of the network.
        error_after: Equivariance error of the repaired network.
        everywhere_before: Score over all transformations.
        everywhere_after: The same score of the repaired network.
        upright_before: Score without transformation.
        upright_after: The same score of the repaired network.
        gain: What the score over all transformations is better by, sample by sample.
        upright_gain: What the score without transformation is better by.
        passes: Forward passes of the network for one answer.
        slowdown: Measured time of one answer, relative to the network.
        seconds: Time the remedy took, without measuring.
        fitted: Samples it was fitted to.
        judged: Samples it was measured on.
        elements: Names of the elements measured, other than the identity.
        sample_shape: Shape of one sample.
        output_shape: Shape of the outputs for one sample.
        certificate: All numbers, counts, versions and a hash of the weights, as JSON takes them.
    """

    name: str
    module: nn.Module | None
    reason: str = ""
    details: str = ""
    does_not_fix: str = ""
    recipe: str = ""
    classes: bool = True
    error_before: Estimate | None = None
    error_after: Estimate | None = None
    everywhere_before: Estimate | None = None
    everywhere_after: Estimate | None = None
    upright_before: Estimate | None = None
    upright_after: Estimate | None = None
    gain: Estimate | None = None
    upright_gain: Estimate | None = None
    passes: int = 1
    slowdown: float = 1.0
    seconds: float = 0.0
    fitted: int = 0
    judged: int = 0
    elements: tuple[str, ...] = ()
    sample_shape: tuple[int, ...] = ()
    output_shape: tuple[int, ...] = ()
    certificate: dict[str, Any] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """What became of the score over all transformations, or, where it did not change, of the error."""
        if self.gain is None or self.error_before is None or self.error_after is None:
            return "not applied"
        larger = self.error_after.low > self.error_before.high
        smaller = self.error_after.high < self.error_before.low
        if self.gain.low > 0:
            grows = self.error_after.value > self.error_before.value + ROUNDING
            return "better score, larger error" if grows else "better"
        if self.gain.high < 0:
            return "worse"
        if larger:
            return "larger error"
        return "smaller error" if smaller else "about the same"

    def __repr__(self) -> str:
        if self.error_before is None or self.error_after is None:
            return f"Repair({self.name}: not applied, {self.reason})"
        error = f"error {self.error_before.value:.1%} to {self.error_after.value:.1%}"
        return f"Repair({self.name}: {self.outcome}, {error}, {self.slowdown:.1f} times slower)"

    def to_dict(self) -> dict[str, Any]:
        """The certificate, or the name and the reason where it was not applied."""
        if self.module is None:
            return {"name": self.name, "outcome": "not applied", "reason": self.reason}
        return {**self.certificate, "does_not_fix": self.does_not_fix, "recipe": self.recipe}


def repair(
    subject: Subject,
    *,
    data_symmetry: DataSymmetry | None = None,
    seconds: float | int = 60.0,
    steps: int = STEPS,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Repair, ...]:
    """Applies remedies to copies of the audited network, and measures each on samples that were not fitted.

    Samples are split in two halves, class by class: one to fit, one to judge. Remedies that make things worse
    are in the list as such; the audited network is never changed.

    Args:
        subject: The network, samples and actions.
        data_symmetry: What `data_symmetry` found: elements that make a class another one, or change numbers,
            are left out, and where none is left nothing is applied.
        seconds: Time for everything; what it does not allow is measured on fewer samples.
        steps: Most steps of fine-tuning; fewer where the time does not allow them.
        seed: Seed for the split, fine-tuning and resamples.
        progress: Called as `progress(words, done, total)`.

    Raises:
        InputError: A time that is not positive, or no steps.
    """
    if not 0 < seconds < math.inf:
        raise InputError(f"seconds: expected a time above 0, got {seconds}.")
    check_count("steps", steps)
    elements, reason = wanted_elements(subject, data_symmetry)
    if reason:
        return tuple(Repair(name, None, reason) for name in NOT_APPLIED)
    plan = repair_plan(subject, elements, seconds, seed)
    first = subject.data.take(torch.arange(1))
    scored = not bool(answer_scores(subject, first, subject.outputs(first.x)).isnan())
    remedies = possible_remedies(subject, plan, scored, steps, seed)
    affordable = affordable_remedies(plan, remedies)
    tried = plan.tried(affordable)
    judged = plan.judged.take(torch.arange(len(tried)))
    moved = moved_samples(subject, judged, plan.measured, tried)

    def measured(module: nn.Module | None = None) -> Measurement:
        return measurement(subject, judged, plan.measured, tried, module, moved)

    before = measured()
    error = before.error(seed)
    if error.high <= ROUNDING:
        none = f"there is nothing to repair, the error is {error.value:.1g}"
        return tuple(Repair(name, None, none) for name in NOT_APPLIED)
    results = []
    for done, remedy in enumerate(remedies):
        if progress:
            progress(f"repair: {remedy.name}", done, len(remedies))
        if remedy not in affordable:
            late = f"it would take longer than the {seconds:.3g} s that remedies have; give more seconds"
            results.append(Repair(remedy.name, None, late))
            continue
        results.append(_applied(subject, plan, remedy, before, measured, seed))
    if progress:
        progress("repair", len(remedies), len(remedies))
    return tuple(results)


def best_repair(repairs: Sequence[Repair]) -> Repair | None:
    """The remedy with the best score over all transformations, of those that helped; None if none did.

    Among remedies within the interval of the best score it is the one with the smallest error, and among
    errors that are about as small (at most twice, or below 0.1 %) the one with the fewest forward passes.

    Args:
        repairs: The remedies that an audit applied, `audit.repairs`.

    Raises:
        InputError: Something else, such as the audit itself.
    """
    if not isinstance(repairs, Sequence) or not all(isinstance(one, Repair) for one in repairs):
        raise InputError(f"repairs: expected those of an audit, audit.repairs, got {type(repairs).__name__}.")
    good = [one for one in repairs if one.outcome in ("better", "smaller error") and one.everywhere_after]
    if not good:
        return None
    sign = 1 if good[0].classes else -1

    def score(one: Repair) -> float:
        assert one.everywhere_after is not None
        value = one.everywhere_after.value
        return 0.0 if math.isnan(value) else sign * value  # without labels all are the same

    def error(one: Repair) -> float:
        assert one.error_after is not None
        return one.error_after.value

    top = max(good, key=score).everywhere_after
    assert top is not None
    if not math.isnan(top.value):
        good = [one for one in good if sign * score(one) >= top.low and sign * score(one) <= top.high]
    small = max(2 * min(map(error, good)), SMALL)
    return min((one for one in good if error(one) <= small), key=lambda one: (one.passes, -score(one)))


def _applied(
    subject: Subject,
    plan: RepairPlan,
    remedy: Remedy,
    before: Measurement,
    measured: Callable[[nn.Module], Measurement],
    seed: int,
) -> Repair:
    """The remedy as a `Repair`, measured; one that cannot be applied has the reason."""
    start = time.perf_counter()
    if remedy.needs_targets and remedy.fitted < LEAST_FITTED:
        return Repair(remedy.name, None, f"only {remedy.fitted} samples to fit")
    if remedy.needs_targets and bool(before.upright.isnan().any()):
        return Repair(remedy.name, None, "the data has no targets for these outputs")
    try:
        module, details = remedy.make()
        spent = time.perf_counter() - start
        after = measured(module.eval())
    except InputError as error:
        return Repair(remedy.name, None, str(error).rstrip("."))
    few = TIMED if TIMED * plan.answer_seconds([remedy]) < 1 else 1
    slowdown = pass_seconds(subject, module, few) / max(pass_seconds(subject, subject.module, few), 1e-9)
    result = Repair(
        remedy.name,
        module,
        details=details,
        does_not_fix=remedy.does_not_fix,
        recipe=_recipe(module),
        classes=before.classes,
        error_before=before.error(seed),
        error_after=after.error(seed),
        everywhere_before=before.score(everywhere=True, seed=seed),
        everywhere_after=after.score(everywhere=True, seed=seed),
        upright_before=before.score(everywhere=False, seed=seed),
        upright_after=after.score(everywhere=False, seed=seed),
        gain=after.gain(before, everywhere=True, seed=seed),
        upright_gain=after.gain(before, everywhere=False, seed=seed),
        passes=remedy.passes,
        slowdown=slowdown,
        seconds=spent,
        fitted=remedy.fitted,
        judged=len(before.tried),
        elements=tuple(subject.element_name(g) for g in plan.measured),
        sample_shape=tuple(subject.data.x.shape[1:]),
        output_shape=tuple(subject.outputs(subject.data.x[:1]).shape[1:]),
    )
    result.certificate.update(_certificate(subject, result, seed))
    return result


def _certificate(subject: Subject, one: Repair, seed: int) -> dict[str, Any]:
    assert one.module is not None
    estimates = ("error", "everywhere", "upright")
    numbers = {
        f"{name}_{when}": getattr(one, f"{name}_{when}").to_dict()
        for name in estimates
        for when in ("before", "after")
    }
    return {
        "name": one.name,
        "outcome": one.outcome,
        "details": one.details,
        "network": subject.name,
        "data": subject.data.name,
        "group": subject.action.group.name,
        "action": describe_action(subject.action, one.sample_shape) or subject.action.name,
        "score": "accuracy" if one.classes else "root mean square error",
        **numbers,
        "passes": one.passes,
        "slowdown": one.slowdown,
        "samples_fitted": one.fitted,
        "samples_judged": one.judged,
        "elements": list(one.elements),
        "seed": seed,
        "weights_sha256": weights_hash(one.module.state_dict()),
        "versions": {
            "symscope": __version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
    }


def _recipe(module: nn.Module) -> str:
    """What to type to have the module again."""
    load = 'from symscope.auditing.repairs import load_repaired\nnet = load_repaired("repaired.pt", build())'
    if isinstance(module, Averaged) and module.target_action is None:
        every = len(module.elements) == module.action.group.order
        more = "" if every else f", elements={list(module.elements)}"
        more += ", probabilities=True" if module.probabilities else ""
        more += "" if module.shape is None else f", shape={module.shape}"
        return f"{load}  # Averaged(build(), action{more})"
    return load
