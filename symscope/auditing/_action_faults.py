"""Whether the error is the test's: an action that is none, or another one than was meant.

A function that breaks the laws of its group is at fault whatever the network does. Otherwise corrected
actions are tried, each the answer to a mistake that is easily made, and the action is at fault if one of
them removes most of the network's error: then the network has a symmetry, and it is not the one it was tried
with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import final

import torch
from jaxtyping import Shaped
from torch import Tensor

from symscope.auditing._error_table import ErrorTable, clean_error, error_table
from symscope.auditing._image_motion import ImageMotion, image_motion
from symscope.auditing._subject import Subject
from symscope.data import (
    Action,
    MeasuredData,
    check_action,
    custom_action,
    dihedral_action,
    is_builtin_action,
    parse_action,
    target_of,
)
from symscope.errors import InputError

LAW_SAMPLES = 4
TRIAL_SAMPLES, TRIAL_ELEMENTS = 96, 4  # with which corrected actions are tried
RIGHT = 0.25  # squared error at most under an action that is the right one
REMAINING = 0.2  # of the squared error at most, with a corrected action, for the given one to be at fault
OFF_CENTRE = 0.2  # pixels
STEP = 4.0  # degrees that a fitted angle may be off
ROTATIONS = ("rot", "turn")  # in the name of an action that should not mirror
WIDEST = 32  # outputs whose own representation is fitted


@final
@dataclass(frozen=True, eq=False)
class ActionFault:
    """What is wrong with an action.

    Attributes:
        sentence: What is wrong, with numbers.
        remedy: What to do.
        corrected: The subject with the action that was probably meant; None where laws are broken.
    """

    sentence: str
    remedy: str
    corrected: Subject | None


@final
@dataclass(frozen=True, eq=False)
class _Candidate:
    sentence: str
    remedy: str
    subject: Subject


def action_fault(subject: Subject, x: Shaped[Tensor, "m *s"], table: ErrorTable) -> ActionFault | None:
    """What is wrong with the action on samples or outputs; None where nothing is.

    Args:
        subject: Network and actions.
        x: Samples.
        table: Errors of the network on them.
    """
    broken = _broken_law(subject, x)
    if broken is not None or table.error() < clean_error(subject):
        return broken
    x = x[:TRIAL_SAMPLES]
    elements = table.elements[:: -(-len(table.elements) // TRIAL_ELEMENTS)]
    given = float(error_table(subject, x, elements).square())
    best: tuple[float, _Candidate] | None = None
    for candidate in _candidates(subject, x, table.elements):
        try:
            left = float(error_table(candidate.subject, x, elements).square())
        except InputError:  # an action that these samples or outputs cannot take
            continue
        if left <= min(REMAINING * given, RIGHT) and (best is None or left < 0.5 * best[0]):
            best = left, candidate
    if best is None:
        return None
    left, candidate = best
    numbers = f"with it the error is {math.sqrt(left):.1%} instead of {math.sqrt(given):.0%}"
    return ActionFault(f"{candidate.sentence}; {numbers}.", candidate.remedy, candidate.subject)


def _broken_law(subject: Subject, x: Tensor) -> ActionFault | None:
    """A user's own function that is no action of its group, on the samples or on the outputs."""
    tried = x[torch.linspace(0, len(x) - 1, min(LAW_SAMPLES, len(x))).long()]
    checks = [("", subject.action, tried)]
    if subject.target is not None:
        checks.append(("target action: ", subject.target, subject.outputs(tried)))
    for where, action, values in checks:
        if is_builtin_action(action):
            continue
        try:
            check_action(action, values)
        except InputError as error:
            remedy = f"Mend the function of {where or 'the action '}{action.name} and audit again."
            return ActionFault(f"{where}{error}", remedy, None)
    return None


def _candidates(subject: Subject, x: Tensor, elements: tuple[int, ...]) -> Iterator[_Candidate]:
    if not is_builtin_action(subject.action):
        yield from _moved_images(subject, x)
        yield from _other_axes(subject, x)
    yield from _targets(subject, x)
    yield from _fitted_target(subject, x, elements)


def _moved_images(subject: Subject, x: Tensor) -> Iterator[_Candidate]:
    """Turns about a point that is not the centre, and mirrors where rotations would be possible."""
    action, shape = subject.action, tuple(x.shape[1:])
    others = subject.others[:16]
    motions = {g: image_motion(action, shape, g) for g in others}
    known = {g: one for g, one in motions.items() if one is not None}
    if not known or shape[-1] != shape[-2]:
        return
    off = max(one.centre_distance for one in known.values())
    if off > OFF_CENTRE and len(known) == len(others):
        centred = _about_the_centre(action, known)
        if centred is not None:
            yield _Candidate(
                f"The action {action.name} turns images about a point {off:.1f} pixels from their centre, "
                "the network is symmetric about the centre",
                "Turn about ((height - 1) / 2, (width - 1) / 2), between the pixels where their number is "
                "even.",
                replace(subject, action=centred),
            )
    mirrors = [g for g, one in known.items() if one.determinant < -0.5]
    if not mirrors or action.group.cyclic_factors is None or len(action.group.cyclic_factors) != 1:
        return
    name = subject.element_name(mirrors[0])
    # a mirror is an action of C2 as good as a half turn: only its name can say that it is not the one meant
    if action.group.order > 2 or any(word in action.name.lower() for word in ROTATIONS):
        yield _Candidate(
            f"Element {name} of the action {action.name} is a mirror (determinant "
            f"{known[mirrors[0]].determinant:.0f}), the network is symmetric under rotations",
            "Give the rotations, torch.rot90(x, k, (-2, -1)) for quarter turns, or audit for the mirror.",
            replace(subject, action=parse_action("rotation", action.group, shape[-2:])),
        )


def mirror_note(subject: Subject, x: Shaped[Tensor, "m *s"]) -> str:
    """That a user's own action is a mirror where the network keeps half turns; empty where it is not so.

    Args:
        subject: Network and actions, found without fault.
        x: Samples.
    """
    action, shape = subject.action, tuple(x.shape[1:])
    if is_builtin_action(action) or action.group.order != 2 or subject.target is not None:
        return ""
    g = subject.others[0]
    motion = image_motion(action, shape, g)
    if motion is None or motion.determinant > -0.5 or shape[-1] != shape[-2]:
        return ""
    turned = replace(subject, action=parse_action("rotation", action.group, shape[-2:]))
    given, left = (float(error_table(one, x, (g,)).square()) for one in (subject, turned))
    if left > min(REMAINING * given, RIGHT):
        return ""
    return (
        f"The action {action.name} is a mirror, and the network keeps half turns instead (error "
        f"{math.sqrt(left):.1%}): whether the mirror was meant cannot be told."
    )


def _about_the_centre(action: Action, motions: dict[int, ImageMotion]) -> Action | None:
    """The built-in turns and mirrors by the same angles, about the centre."""
    for steps in (action.group.order, max(1, action.group.order // 2)):
        right, places = dihedral_action(steps), {action.group.identity: 0}
        for g, one in motions.items():
            k = round(one.turn * steps / 360)
            if abs(one.turn - 360 * k / steps) > STEP:
                break
            places[g] = k % steps + (steps if one.determinant < 0 else 0)
        else:
            act = partial(_numbered, right, places)
            return custom_action(action.group, act, 2, f"{action.name} about the centre")
    return None


def _numbered(action: Action, places: dict[int, int], g: int, x: Tensor) -> Tensor:
    return action.act(places.get(g, 0), x)


def _other_axes(subject: Subject, x: Tensor) -> Iterator[_Candidate]:
    """The same function on other axes of the samples: rows for columns, positions for channels."""
    action, axes = subject.action, x.ndim - 1
    if axes not in (2, 3):
        return
    smallest = min(range(axes), key=lambda axis: x.shape[axis + 1])
    for order in permutations(range(axes)):
        if order == tuple(range(axes)):
            continue
        acting = custom_action(
            action.group, partial(_permuted, action, order), axes, f"{action.name}, other axes"
        )
        channels = axes == 3 and order[smallest] != smallest
        yield _Candidate(
            (
                f"The action {action.name} moves channels (axis {smallest + 1} of the data "
                f"{tuple(x.shape)}) as if they were positions, the network is symmetric in the positions"
                if channels
                else f"The action {action.name} has its axes swapped: the network keeps the other one"
            ),
            "Let the function act on the axes of rows and columns: (-2, -1) with channels first, (1, 2) with "
            "channels last."
            if channels
            else "Exchange rows (axis -2, y) and columns (axis -1, x) in the function.",
            replace(subject, action=acting),
        )


def _permuted(action: Action, order: tuple[int, ...], g: int, x: Tensor) -> Tensor:
    back = [order.index(axis) for axis in range(len(order))]
    moved = action.act(g, x.permute(0, *[axis + 1 for axis in order]).contiguous())
    return moved.permute(0, *[axis + 1 for axis in back])


def _targets(subject: Subject, x: Tensor) -> Iterator[_Candidate]:
    """Other ways in which outputs are commonly meant to change, or not."""
    shape, outputs = tuple(x.shape[1:]), tuple(subject.outputs(x[:1]).shape[1:])
    declared = "unchanged outputs" if subject.target is None else subject.target.name
    found: list[tuple[str, str, Action | None]] = []
    if subject.target is not None:
        found.append(("the outputs do not change", "Use target_action='same'.", None))
        found.append(
            (
                "the outputs turn the other way, by the inverse element",
                "Give the target action of g^-1, or number its elements as the data's action does.",
                custom_action(
                    subject.target.group, partial(_inverse, subject.target), subject.target.sample_ndim
                ),
            )
        )
    for word, says in (
        ("image", "move with the positions of the samples"),
        ("vector", "turn as vectors (x, y up)"),
    ):
        try:
            target = target_of(word, subject.action, shape, outputs)
        except InputError:
            continue
        assert target is not None
        found.append((f"the outputs {says}", f"Use target_action='{word}'.", target))
        if word == "vector" and outputs[-1] == 2:
            flipped = custom_action(target.group, partial(_y_down, target), 1, "vector, y down")
            says = "the outputs turn as vectors whose y points down"
            found.append((says, "Change the sign of y, or give that target action.", flipped))
    for says, remedy, target in found:
        sentence = f"The target action is not the declared one ({declared}): {says}"
        yield _Candidate(sentence, remedy, replace(subject, target=target))


def _inverse(action: Action, g: int, y: Tensor) -> Tensor:
    return action.act(action.group.inverse(g), y)


def _y_down(action: Action, g: int, y: Tensor) -> Tensor:
    down = torch.tensor([1.0, -1.0]).to(y)
    return action.act(g, y * down) * down


def _fitted_target(subject: Subject, x: Tensor, elements: tuple[int, ...]) -> Iterator[_Candidate]:
    """Some linear action on rows of outputs, fitted to one half of the samples for the other half.

    Only for numbers to predict: scores of classes that change in some regular way are still of a network that
    is not invariant.
    """
    if not isinstance(subject.data, MeasuredData):
        return
    y = subject.outputs(x)
    if y.ndim != 2 or y.shape[1] > WIDEST or len(x) < 6 * (y.shape[1] + 1):
        return
    group, odd = subject.action.group, torch.arange(len(x)) % 2 == 1
    fits: dict[int, Tensor] = {}
    for g in elements:
        moved = subject.outputs(subject.moved(g, x[odd]))
        design = torch.cat([moved, torch.ones(len(moved), 1).double()], 1)
        fits[group.inverse(g)] = torch.linalg.lstsq(design, y[odd], driver="gelsd").solution
    target = custom_action(group, partial(_fitted, fits), 1, "a fitted representation")
    plain = replace(subject, target=target)
    if float(error_table(plain, x[~odd], elements[:TRIAL_ELEMENTS]).square()) > REMAINING / 2:
        return  # also held out, so that shrinking towards the mean does not pass for an action
    loss = float(error_table(subject, x[~odd], elements[:TRIAL_ELEMENTS]).square())
    if _round_trip(fits, group.inverses.tolist(), y) > REMAINING * loss:
        return  # there and back is not the identity: a loss, by interpolation for example, and no action
    declared = "unchanged outputs" if subject.target is None else subject.target.name
    yield _Candidate(
        f"The target action is not the declared one ({declared}): the outputs change linearly, by matrices "
        "that can be fitted",
        "Give the representation by which the outputs change as target_action.",
        plain,
    )


def _round_trip(fits: dict[int, Tensor], inverses: list[int], y: Tensor) -> float:
    """The squared error of fitted maps there and back."""
    away = (y - y.mean(0)).square().sum(1).mean()
    there = [g for g in fits if inverses[g] in fits]
    back = [(_fitted(fits, inverses[g], _fitted(fits, g, y)) - y).square().sum(1).mean() for g in there]
    return float(sum(back) / len(back) / away) if back else math.inf


def _fitted(fits: dict[int, Tensor], g: int, y: Tensor) -> Tensor:
    return torch.cat([y, torch.ones(len(y), 1).to(y)], 1) @ fits[g].to(y) if g in fits else y
