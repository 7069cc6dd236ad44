"""How a group acts on the numbers to predict: what a user said of it, checked, as an action on rows."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from symscope.auditing import data_symmetry
from symscope.data import (
    Action,
    MeasuredData,
    TargetAction,
    check_action,
    custom_action,
    is_builtin_action,
    sample_kind,
    target_of,
)
from symscope.errors import InputError
from symscope.numerics import seeded
from symscope.user_code import user_errors

TRIED = 3  # random targets on which a user's own action is tried
EXACT = 1e-6  # of their norm: what laws of a representation may be off by
COMPARED = 600  # samples by which is judged what targets do
VECTORS = (2, 3)  # numbers of a target that may be a vector


def row_action(target: TargetAction | None, data: MeasuredData, action: Action) -> Action | None:
    """The group action on rows of numbers that a user named; None where no element changes them.

    Args:
        target: What the user said, as `data.target_of` takes it; None where nothing was said.
        data: Samples with their numbers.
        action: Group action on the samples.

    Raises:
        InputError: Nothing was said of what may be a vector, a map or numbers of nodes; an action of another
            group, on another shape, that is not linear, or that breaks the laws of its group.
    """
    shape = data.target_shape
    if target is None and data.classes and shape[1:] == tuple(data.x.shape[1:])[-len(shape[1:]) :]:
        target = "image"  # a class at every pixel moves with it
    if target is None:
        if len(shape) > 1 or shape[0] in VECTORS or _of_nodes(data, action):
            raise InputError(_asked(data, action))
        return None
    acting = target_of(target, action, tuple(data.x.shape[1:]), shape)
    if acting is None:
        return None
    _check_representation(acting, data)
    return _as_rows(acting, shape)


def _of_nodes(data: MeasuredData, action: Action) -> bool:
    """Whether targets may be those of the nodes that an action permutes."""
    shape = tuple(data.x.shape[1:])
    return sample_kind(action, shape) in ("graph", "set") and data.target_shape[0] == shape[-2]


def _as_rows(action: Action, shape: tuple[int, ...]) -> Action:
    return custom_action(action.group, partial(_on_rows, action, shape), 1, action.name)


def _on_rows(action: Action, shape: tuple[int, ...], g: int, rows: Tensor) -> Tensor:
    """An action on arrays of some shape, on the same numbers in rows."""
    return action.act(g, rows.unflatten(-1, shape)).flatten(-len(shape))


def _check_representation(action: Action, data: MeasuredData) -> None:
    """Refuses an action on numbers that is not linear or not one of its group."""
    group, shape = action.group, data.target_shape
    named = f"target action {action.name}"
    y = torch.randn(TRIED, *shape, generator=seeded(0, 61), dtype=torch.float64)
    size = EXACT * float(y.norm())
    with user_errors(f"{named}: its function"):
        moved = torch.stack([action.act(g, y) for g in group.elements])
        sums = torch.stack([action.act(g, y[:1] - 2 * y[1:2]) for g in group.elements])
    if not bool(moved.isfinite().all()):
        raise InputError(f"{named}: it made values that are not finite.")
    if float((sums - moved[:, :1] + 2 * moved[:, 1:2]).norm()) > size * group.order:
        raise InputError(
            f"{named}: expected a linear map of the targets for every element, g (y - 2 z) = g y - 2 g z; "
            "angles and other numbers that add up are given as vectors (cos, sin)."
        )
    if is_builtin_action(action) and action.sample_ndim > 1:
        return  # interpolates, as on the samples
    if action.sample_ndim > 1:
        with user_errors(f"{named}: its function"):
            check_action(action, data.targets[:TRIED].double().unflatten(1, shape))
        return
    with user_errors(f"{named}: its function"):
        for g in (group.identity, *group.generators):
            off = (action.act(g, moved) - moved[group.table[g]]).flatten(1).norm(dim=1)
            own = (moved[group.identity] - y).norm()
            if float(off.max()) > size or float(own) > size:
                h = int(off.argmax())
                raise InputError(
                    f"{named} is no representation of {group.name}: element {action.element_name(g)} after "
                    f"{action.element_name(h)} should do what {action.element_name(int(group.table[g, h]))} "
                    "does, and the identity nothing; number the elements as the group does, or choose "
                    "another group."
                )


def _asked(data: MeasuredData, action: Action) -> str:
    """What to say of targets that may change with the samples, and what the data suggests, in one line."""
    shape = data.target_shape
    what = f"vectors of {shape[0]} numbers" if len(shape) == 1 else f"maps of shape {shape}"
    word = "vector" if len(shape) == 1 else "image"
    if _of_nodes(data, action):
        what, word = f"as many as the {shape[0]} nodes, of shape {shape}", "nodes"
    elif shape[-1] in VECTORS and sample_kind(action, data.x.shape[1:]) == "points":
        word = "vector"
    suggestion, words, values = suggested_target(data, action, word), f"{word}, ", f"{word!r}, "
    try:
        target_of(word, action, tuple(data.x.shape[1:]), shape)
    except InputError:  # no such word for this action
        words = values = ""
    return (
        f"{data.name}: its targets are {what}: do they change with the samples under {action.group.name} "
        f"{action.name}, or not? Say --target-action {words}same or FILE.py:FUNCTION "
        f"(target_action={values}'same', an Action or a Representation). {suggestion}"
    )


def suggested_target(data: MeasuredData, action: Action, word: str) -> str:
    """Which of "same" and another target action the data suggests, in a sentence.

    A fit to some samples is tried on others, moved: where these look like the data, it should predict what
    their targets become (`auditing.data_symmetry`).

    Args:
        data: Samples with their targets.
        action: Group action on the samples.
        word: The other target action.
    """
    few = data.take(torch.arange(len(data))[:: -(-len(data) // COMPARED)])
    counts = {}
    for name in ("same", word):
        try:
            target = target_of(name, action, tuple(data.x.shape[1:]), data.target_shape)
            rows = None if target is None else _as_rows(target, data.target_shape)
            verdicts = [one.verdict for one in data_symmetry(few, action, target=rows).targets]
        except InputError:  # too few samples to compare, or an action on targets that there is not
            verdicts = []
        counts[name] = verdicts.count("survives") - verdicts.count("changes")
    best = max(counts, key=lambda name: counts[name])
    if counts[best] <= 0 or min(counts.values()) == counts[best]:
        return "The data cannot tell: samples moved by it do not look like the data, or are too few."
    return f"The data suggests {best}: it is what a fit to samples in other transformations predicts."
