"""Whose fault is it? The error of a network, divided among its causes; what follows from it; and remedies."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from symscope.auditing._action_faults import action_fault, mirror_note
from symscope.auditing._audit_plan import CONTROL, MOST_SAMPLES, AuditPlan, audit_plan, measured_elements
from symscope.auditing._audit_subject import audit_subject
from symscope.auditing._causes import Evidence, error_interval, find_causes
from symscope.auditing._consequences import consequences
from symscope.auditing._data_symmetry import DataSymmetry, data_symmetry
from symscope.auditing._error_table import ErrorTable, clean_error, error_table
from symscope.auditing._fresh import SHUFFLED, fresh_networks
from symscope.auditing._grid import GridPart, grid_part, local_error
from symscope.auditing._kept_branch import keeps_symmetry
from symscope.auditing._layer_shares import QUIET, LayerShare, layer_shares
from symscope.auditing._layer_words import layer_reason
from symscope.auditing._layers import exact_elements
from symscope.auditing._mask_data import MaskData
from symscope.auditing._repair import Repair, repair
from symscope.auditing._result import Audit, AuditedLayer, ElementError
from symscope.auditing._stability_words import stability_words
from symscope.auditing._subject import Subject
from symscope.data import Action, MeasuredData, custom_action, is_builtin_action, plane_vectors, rotation
from symscope.errors import InputError
from symscope.numerics import Progress, explained, seeded

STEPS = ("error", "action", "data", "grid", "layers", "fresh networks", "consequences", "remedies")
FEWEST_REPAIRED = 20  # samples that remedies are fitted to and judged on
QUARTER = (1, 2, 3)


@explained
def audit(
    model: str | nn.Module | Callable[..., nn.Module],
    data: Any,
    action: Action | str,
    *,
    target_action: Action | str | None = None,
    weights: str | os.PathLike[str] | None = None,
    builder: Callable[..., nn.Module] | None = None,
    task: str = "auto",
    class_names: Sequence[str] | None = None,
    name: str | None = None,
    device: torch.device | str = "cpu",
    augmented: bool = False,
    repairs: bool = True,
    seconds: float | int = 120.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Audit:
    """How far a trained network is from a symmetry, whose fault it is, and what to do.

    The error is `|rho(g)^-1 f(g x) - f(x)|` over samples and elements, root mean square, over that of
    `f(x) - mean f(x)`. How it is divided among action, grid, architecture, data and training is told in
    `symscope/auditing/_causes.py`.

    Args:
        model: A trained module; or a function that builds one, or the name of one, with a file of weights.
        data: What `data.as_samples` takes, for example `(X, y)`: samples as the network is used on them. With
            masks `[n, h, w]` for y, or X alone, which has no labels: then no accuracy is measured.
        action: Group action on the samples, or a few words such as "C8 rotation".
        target_action: "same" (or None) where outputs should not change, "image", "vector", or an `Action`.
        weights: A saved state dict.
        builder: Function that builds a fresh network, where a trained module cannot be drawn anew.
        task: "auto", "classification" or "regression".
        class_names: Names of the network's outputs 0, 1, ...; labels that are words are matched to them.
        name: Name of the network in reports.
        device: Device of the network.
        augmented: Whether it was trained on samples moved by random elements of the group, which the samples
            given do not show.
        repairs: Whether remedies are applied and measured.
        seconds: Time for forward passes and for moving samples, which decides their numbers; remedies get
            half as much again.
        seed: Seed for drawing samples and resamples.
        progress: Called with how far it is.

    Raises:
        InputError: As `audit_subject`; or outputs that are the same for all samples.

    >>> from symscope.data import mnist_sample
    >>> net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 10))
    >>> audit(net, mnist_sample().per_class(4, seed=0), "C4 rotation", repairs=False).clean
    True
    """
    if not 0 < seconds < math.inf:
        raise InputError(f"seconds: expected a time above 0, got {seconds}.")
    if not 0 <= seed < 2**63:
        raise InputError(f"seed: expected a whole number from 0 to 2^63 - 1, got {seed}.")
    with torch.inference_mode(False), torch.enable_grad():  # remedies are trained, whatever is switched off
        subject = audit_subject(
            model,
            data,
            action,
            target_action=target_action,
            weights=weights,
            builder=builder,
            task=task,
            class_names=class_names,
            name=name,
            device=device,
            augmented=augmented,
        )
        return _audited(subject, class_names is None, repairs, seconds, seed, progress)


def _audited(
    subject: Subject,
    numbered: bool,
    repairs: bool,
    seconds: float | int,
    seed: int,
    progress: Progress | None,
) -> Audit:
    """All parts of an audit, in their order; `numbered` is whether names of classes were not given."""
    started = time.perf_counter()
    told = _Steps(progress)
    elements = measured_elements(subject)
    order = torch.randperm(len(subject.data), generator=seeded(seed, 3))
    x = subject.data.x[order[:MOST_SAMPLES]]  # parts of an audit take the first ones
    exact = exact_elements(subject.action, x[:4], elements)
    plan = audit_plan(subject, elements, exact, seconds)
    elements = plan.elements
    later = f", remedies up to {seconds / 2:.0f} s" if repairs else ""
    told.part("error")(f"the error and its causes take about {plan.seconds:.0f} s{later}", 0, 1)
    asking = told.begin("error", len(elements))
    table = error_table(subject, x[: plan.table], elements, step=asking)
    told.begin("action")
    fault = action_fault(subject, x[: plan.trial], table)
    notes = list(plan.notes)
    if subject.action.note:  # a finite group stands for a continuous one
        notes.append(f"{subject.action.note}.")
    if fault is None and (mirrored := mirror_note(subject, x[: plan.trial])):
        notes.append(mirrored)
    if numbered and subject.class_names is not None:
        notes.append(names_note(subject.class_names))
    if len(elements) < len(subject.others):
        notes.append(f"The error is measured with {len(elements)} of {len(subject.others)} elements.")
    used = subject if fault is None or fault.corrected is None else fault.corrected
    lawful = fault is None or fault.corrected is not None
    symmetry = _data_symmetry(used, plan.compared, seed, notes, told.part("data")) if lawful else None
    clean = fault is None and table.error() < clean_error(subject)
    evidence = None if clean else _evidence(subject, x, table, fault, exact, plan, symmetry, told, notes)
    answers = None
    if lawful:
        places, rows = order[: plan.table].sort()
        drawn = replace(used, data=used.data.take(places))
        measured = table if evidence is None else evidence.corrected
        known = {g: out[rows] for g, out in measured.outputs.items()}
        answers = consequences(drawn, known=known, seed=seed, progress=told.part("consequences"))
        if answers is not None:
            flipped = (replace(one, index=int(places[one.index])) for one in answers.flipped)
            answers = replace(answers, flipped=tuple(flipped))  # positions in all of the data
    if isinstance(subject.data, MaskData) and subject.data.masks is None:
        notes.append("The data has no labels: accuracy is not measured, and nothing is fitted to labels.")
    fixed: tuple[Repair, ...] = ()
    if repairs and lawful and not clean and len(subject.data) < FEWEST_REPAIRED:
        notes.append(
            f"Remedies are not tried on {len(subject.data)} samples: {FEWEST_REPAIRED} at least, half of "
            "them to fit and half to judge."
        )
    elif repairs and lawful and not clean:
        fixed = repair(
            used, data_symmetry=symmetry, seconds=seconds / 2, seed=seed, progress=told.part("remedies")
        )
    low, high = error_interval(table, seed)
    return Audit(
        subject=subject,
        samples=len(table.squares),
        error=table.error(),
        low=low,
        high=high,
        elements=tuple(
            ElementError(subject.element_name(g), one, g in exact)
            for g, one in table.element_errors().items()
        ),
        start_errors=() if evidence is None else evidence.start_errors,
        causes=() if evidence is None else find_causes(evidence, seed),
        layers=() if evidence is None else _audited_layers(evidence),
        local=local_error(subject, x[: plan.local], table),
        smooth_error=float("nan") if evidence is None else evidence.grid.smooth_rough,
        stability=stability_words(subject),
        consequences=answers,
        data_symmetry=symmetry,
        repairs=fixed,
        notes=tuple(notes),
        seconds=time.perf_counter() - started,
    )


def names_note(names: Sequence[str]) -> str:
    """How labels that are words were matched to outputs, in a sentence."""
    listed = ", ".join(f"{place} {name}" for place, name in enumerate(names[:8]))
    more = ", ..." if len(names) > 8 else ""
    return (
        f"Labels are words: the network's outputs are taken as {listed}{more}; class_names (--class-names) "
        "in the order of its outputs changes that."
    )


class _Steps:
    """Progress in the steps of an audit, each a hundred parts of the whole."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.done = progress, 0

    def begin(self, step: str, parts: int = 1) -> Callable[[], object]:
        """Tell of a step, and give what tells of each of its parts."""
        told = self.part(step)
        told("", 0, parts)
        done = iter(range(1, parts + 1))
        return lambda: told("", next(done, parts), parts)

    def part(self, step: str) -> Progress:
        """Progress of one step, counted in the whole."""

        def told(words: str, done: int, total: int) -> None:
            if self.progress is not None:
                share = round(100 * min(1.0, done / total)) if total else 0
                self.done = max(self.done, 100 * STEPS.index(step) + share)  # steps may count parts anew
                self.progress(f"{step}: {words}" if words else step, self.done, 100 * len(STEPS))

        return told


def _evidence(
    subject: Subject,
    x: Tensor,
    table: ErrorTable,
    fault: Any,
    exact: tuple[int, ...],
    plan: AuditPlan,
    symmetry: DataSymmetry | None,
    told: _Steps,
    notes: list[str],
) -> Evidence:
    """What the causes are told from; for an action that breaks laws, nothing more."""
    if fault is not None and fault.corrected is None:
        return Evidence(
            subject,
            table,
            fault,
            table,
            exact,
            GridPart((), None, float("nan"), float("nan")),
            (),
            (),
            (),
            "",
            None,
        )
    used, corrected = subject, table
    if fault is not None:
        used = fault.corrected
        exact = exact_elements(used.action, x[:4], table.elements)
        corrected = error_table(used, x[: len(table.squares)], table.elements)
    told.begin("grid")
    grid = grid_part(used, x[: plan.grid], exact, table.elements)
    told.begin("layers")
    control, still = _control(used, x, exact, table.elements, notes)
    shares = layer_shares(control, x[: plan.layers], still, most=plan.calls)
    told.begin("fresh networks")
    fresh, how = fresh_networks(used, x[: plan.fresh], plan.seeds)
    if how == SHUFFLED:
        notes.append(
            "No fresh network can be drawn (a part without reset_parameters): the weights are shuffled "
            "within each tensor instead; give the function that builds the network."
        )
    starts: list[float] = []
    fresh_shares: list[tuple[LayerShare, ...]] = []
    kept = any(keeps_symmetry(control, x[: plan.layers], still, module) for module in fresh[:1])
    for module in fresh:
        try:
            starts.append(error_table(control, x[: plan.fresh], still, module=module).error())
        except InputError:  # fresh outputs that do not vary
            continue
        if not fresh_shares:
            fresh_shares.append(layer_shares(control, x[: plan.layers], still, module, plan.calls))
    return Evidence(
        used,
        table,
        fault,
        corrected,
        exact,
        grid,
        shares,
        tuple(fresh_shares),
        tuple(starts),
        how,
        symmetry,
        kept,
    )


def _control(
    subject: Subject, x: Tensor, exact: tuple[int, ...], elements: tuple[int, ...], notes: list[str]
) -> tuple[Subject, tuple[int, ...]]:
    """The subject with elements that act exactly: its own, else quarter turns, else all there are."""
    still = tuple(g for g in elements if g in exact)
    quarter = _quarter_turns(subject, x) if not still or subject.action.group.order % 4 == 0 else None
    if quarter is not None:
        return quarter, QUARTER
    if still:
        return subject, still[:: -(-len(still) // CONTROL)]
    notes.append(
        "No element moves samples exactly: layers and fresh networks are measured with interpolation."
    )
    return subject, elements[:: -(-len(elements) // CONTROL)]


def _quarter_turns(subject: Subject, x: Tensor) -> Subject | None:
    """The subject under quarter turns, which permute pixels, in place of finer rotations; None for others."""
    action, quarter = subject.action, rotation(4)
    turns = is_builtin_action(action) and action.name.partition(":")[0] == "rotation"
    if not turns or action.group.cyclic_factors is None or x.shape[-1] != x.shape[-2]:
        return None
    if subject.target is None:
        return replace(subject, action=quarter)
    if subject.target.name == "vector":
        return replace(subject, action=quarter, target=plane_vectors(quarter, (2,)))
    if is_builtin_action(subject.target) and subject.target.name == action.name:
        return replace(subject, action=quarter, target=quarter)
    return None


def _audited_layers(evidence: Evidence) -> tuple[AuditedLayer, ...]:
    whole = sum(max(0.0, float(one.added.mean())) for one in evidence.shares)
    fresh: dict[str, LayerShare] = {one.layer: one for shares in evidence.fresh_shares for one in shares}
    rows = []
    for one in evidence.shares:
        share = max(0.0, float(one.added.mean())) / whole if whole > 0 else 0.0
        before = fresh[one.layer].own if one.layer in fresh else float("nan")
        reason = ""
        if share > 0.01 or (not one.counted and one.own > QUIET):
            reason = layer_reason(one, evidence.subject)
        rows.append(AuditedLayer(one.layer, one.kind, one.own, share, before, reason))
    return tuple(rows)


def _data_symmetry(
    subject: Subject, most: int, seed: int, notes: list[str], progress: Progress
) -> DataSymmetry | None:
    """Whether the data has the symmetry; None, with a note, where that cannot be asked."""
    try:
        return data_symmetry(
            subject.data,
            subject.action,
            target=_data_target(subject),
            class_names=subject.class_names,
            most_samples=most,
            seed=seed,
            progress=progress,
        )
    except InputError as error:
        notes.append(f"Whether the data has the symmetry was not asked: {error}")
        return None


def _data_target(subject: Subject) -> Action | None:
    """The action on the numbers to predict, where they have the shape of the outputs, or on masks."""
    data, target = subject.data, subject.target
    if isinstance(data, MaskData):
        return target
    if target is None or not isinstance(data, MeasuredData):
        return None
    shape = subject.outputs(data.x[:1]).shape[1:]
    if shape.numel() != data.targets.shape[1]:
        return None
    return custom_action(target.group, partial(_on_rows, target, tuple(shape)), 1, target.name)


def _on_rows(target: Action, shape: tuple[int, ...], g: int, rows: Tensor) -> Tensor:
    """An action on outputs of a shape, for outputs that are flattened."""
    return target.act(g, rows.unflatten(-1, shape)).reshape(rows.shape)
