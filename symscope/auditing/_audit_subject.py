"""A network, samples and actions as a user has them, checked together before anything is measured."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from symscope.auditing._mask_data import AuditData, MaskData, audit_samples, mask_scores
from symscope.auditing._subject import Subject, weight_types
from symscope.data import (
    Action,
    LabelledData,
    MeasuredData,
    is_builtin_action,
    parse_action,
    parse_named_action,
    target_of,
)
from symscope.errors import InputError
from symscope.networks import fitting_weights, network_builder
from symscope.numerics import check_finite, explained, usable_device

MOST_ELEMENTS = 1024  # of a group: every one is tried on some samples
MOVED = 1e-6  # relative distance below which a sample has not moved
SMALLEST = 1e-100  # size of outputs, and its inverse the largest: their squares are summed
CHECKING = 5.0  # seconds in which elements are tried one by one
TRIED = 3  # samples on which a network and an action are tried
REPEATED = 1e-6  # relative difference of two calls in evaluation mode that rounding may make (on GPUs)


@explained
def audit_subject(
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
) -> Subject:
    """A network, data and actions, checked against each other.

    Args:
        model: A trained module; or a function that builds one, or the name of one, with a file of weights.
        data: What `data.as_samples` takes, for example `(X, y)`; with masks for y, or X alone.
        action: Group action on the samples, or a few words such as "C8 rotation".
        target_action: "same" or None where outputs should not change; "image" (None where y are masks) where
            they have positions that move with those of the samples; "vector" where their last axis is (x to
            the right, y up) in the plane; or an `Action` of the same group.
        weights: A saved state dict, read with `weights_only=True`.
        builder: Function that builds a fresh network, where a trained module cannot be drawn anew by its
            layers' own `reset_parameters`.
        task: "auto", "classification" or "regression".
        class_names: Names of the network's outputs 0, 1, ...; labels that are words are matched to them.
        name: Name of the network in reports.
        device: Device of the network.
        augmented: Whether it was trained on samples moved by random elements of the group.

    Raises:
        InputError: A network that fails on the data, gives something else than one tensor, or changes from
            call to call; weights that do not fit; one class only; an action that the data cannot take.

    >>> from symscope.data import mnist_sample
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    >>> subject = audit_subject(net, mnist_sample(), "C4 rotation")
    >>> subject, subject.outputs(subject.data.x[:5]).shape
    (Subject(Sequential, MNIST sample: 2000 samples, C4 rotation), torch.Size([5, 10]))
    """
    samples, names = audit_samples(data, task)
    if target_action is None and isinstance(samples, MaskData) and samples.masks is not None:
        target_action = "image"
    if isinstance(action, str) and samples.x.ndim == 2 and any(word in action for word in ("shift", "flip")):
        samples = replace(samples, x=samples.x[:, None])  # series as images of one row
    acting = _action(action, samples)
    where = usable_device(device, samples.x)
    called = name or _name(model)
    fresh = _builder(builder or model, samples, called)
    module = _module(model, fresh, weights, called)
    module = module.to(where).eval()
    samples = samples.to("cpu")
    names, samples = _named_classes(samples, names, class_names)
    made = None if fresh is None else partial(_fresh_like, fresh, module)
    trained = isinstance(model, nn.Module) or weights is not None
    subject = Subject(module, called, samples, acting, None, "as is", names, made, where, trained, augmented)
    subject = _with_target(subject, target_action)
    _check_action(subject)
    return replace(subject, data=_checked_labels(subject))


def _named_classes(
    samples: AuditData, words: tuple[str, ...] | None, given: Sequence[str] | None
) -> tuple[tuple[str, ...] | None, AuditData]:
    """Names of the network's outputs, and the samples with its numbers: words by their places in the names.

    Raises:
        InputError: A label that is not among the names.
    """
    if given is not None:
        names = tuple(str(one) for one in given)
        if words is None or not isinstance(samples, LabelledData):
            return names, samples
        foreign = [word for word in words if word not in names]
        if foreign:
            raise InputError(
                f"class_names: expected every label of the data, {foreign[0]!r} is not among {list(names)}."
            )
        places = torch.tensor([names.index(word) for word in words])
        return names, replace(samples, labels=places[samples.labels])
    return words, samples


def _name(model: Any) -> str:
    if isinstance(model, str):
        return model
    return type(model).__name__ if isinstance(model, nn.Module) else str(getattr(model, "__name__", "model"))


def _action(action: Action | str, samples: AuditData) -> Action:
    """The action, which must fit the shape of the samples."""
    shape = tuple(samples.x.shape[1:])
    if isinstance(action, str):
        return parse_named_action(action, shape)[1]
    if not isinstance(action, Action):
        raise InputError(
            "action: expected words such as 'C8 rotation' or a symscope.data.Action, got "
            f"{type(action).__name__}; make one with data.custom_action(group, function, sample_ndim)."
        )
    if is_builtin_action(action) and action.name.partition(":")[0] in ("rotation", "dihedral", "shift"):
        parse_action(action.name, action.group, shape)  # refuses shapes that it does not move as meant
    if len(shape) < action.sample_ndim:
        raise InputError(
            f"the action {action.name} moves samples with {action.sample_ndim} axes, the samples of "
            f"{samples.name} have shape {shape}."
        )
    return action


def _builder(
    model: str | nn.Module | Callable[..., nn.Module], samples: AuditData, name: str
) -> Callable[[int], nn.Module] | None:
    if isinstance(samples, MeasuredData):
        classes = int(samples.targets.shape[1])
    elif isinstance(samples, LabelledData):
        classes = max(samples.classes) + 1
    elif isinstance(model, str):
        raise InputError(f"model {name}: expected data with a class for each sample for a network by name.")
    else:
        classes = 1  # networks that are given know their outputs
    try:
        return network_builder(model, tuple(samples.x.shape[1:]), classes, name)
    except InputError:
        if isinstance(model, nn.Module):  # a part without reset_parameters
            return None
        raise


def _module(
    model: str | nn.Module | Callable[..., nn.Module],
    build: Callable[[int], nn.Module] | None,
    weights: str | os.PathLike[str] | None,
    name: str,
) -> nn.Module:
    """A copy of the network with its weights, in the dtype they have."""
    if isinstance(model, nn.Module):
        _check_kind(model, name)
        try:
            module = copy.deepcopy(model)
        except Exception as error:  # a module may hold anything
            old = "weight_norm" in str(error)
            words = "use torch.nn.utils.parametrizations.weight_norm" if old else error
            raise InputError(f"model {name}: it cannot be copied (copy.deepcopy): {words}") from error
    else:
        assert build is not None
        module = build(0)
        _check_kind(module, name)
    for parameter in module.parameters():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise InputError(f"model {name}: it has lazy layers; run it once on a batch before the audit.")
    if weights is not None:
        saved = fitting_weights(module, Path(weights))
        kinds = {value.dtype for value in saved.values() if value.is_floating_point()}
        if len(kinds) == 1 and not isinstance(model, nn.Module):
            module = module.to(kinds.pop())
        module.load_state_dict(dict(saved), strict=False)  # non-persistent buffers are the module's own
    elif not isinstance(model, nn.Module):
        module = module.to(torch.float32)
    return module


def _check_kind(module: nn.Module, name: str) -> None:
    """Refuses networks whose layers cannot be followed."""
    if isinstance(module, torch.jit.ScriptModule):
        raise InputError(
            f"model {name}: it is a TorchScript module, whose layers cannot be followed; give the nn.Module "
            "that it was made from."
        )


def _fresh_like(build: Callable[[int], nn.Module], trained: nn.Module, seed: int) -> nn.Module:
    """A fresh network on the device and in the types of the trained one, tensor by tensor."""
    fresh = build(seed).to(weight_types(trained)[0])
    given = {**dict(trained.named_parameters()), **dict(trained.named_buffers())}
    for name, value in (*fresh.named_parameters(), *fresh.named_buffers()):
        like = given.get(name, next(iter(given.values()), value))
        value.data = value.data.to(like.device, like.dtype if name in given else value.dtype)
    return fresh.eval()


def _with_target(subject: Subject, target: Action | str | None) -> Subject:
    """The subject in the layout its network takes, with the action on its outputs."""
    x, first = subject.data.x[:TRIED], None
    problems: list[str] = []
    refusals: list[str] = []
    shape, kinds = tuple(x.shape[1:]), weight_types(subject.module)
    layouts = ("channel", "flat", "as is") if len(shape) in (2, 3) else ("as is", "flat")
    for kind, layout in product(kinds if len(kinds) > 1 else (None,), layouts):
        tried = replace(subject, layout=layout, dtype=kind)
        given = tried.inputs(x)
        try:
            out = tried.call(tried.module, given.clone())
        except InputError as error:
            problems.append(f"{tuple(given.shape)}: {error}")
            continue
        try:
            chosen = target_of(target, tried.action, shape, tuple(out.shape[1:]))
        except InputError as error:
            refusals.append(str(error))
            continue
        _check_repeatable(tried, given, out)
        tried = replace(tried, target=chosen)
        if chosen is not None or out.ndim == 2:
            return tried
        first = first or tried  # outputs with positions that should not change: only if nothing else fits
    if first is not None:
        return first
    if refusals:  # the network takes the data, its outputs do not take the action
        raise InputError(" ".join(dict.fromkeys(refusals)))
    raise InputError(
        f"model {subject.name}: it does not take the data, samples of shape {shape}. Tried "
        + "; ".join(dict.fromkeys(problems))
    )


def _check_repeatable(subject: Subject, given: Tensor, out: Tensor) -> None:
    """Refuses networks that change what they are given, or answer differently when asked again."""
    fed = given.clone()
    again = subject.call(subject.module, fed)
    if not torch.equal(fed, given):
        raise InputError(
            f"model {subject.name}: its forward changes its input in place; write x = x - 1 instead of x -= "
            "1, or begin with x = x.clone()."
        )
    check_finite(f"outputs of {subject.name}", out.double().cpu())
    size = float(out.double().abs().max())
    if size and not SMALLEST < size < 1 / SMALLEST:
        raise InputError(
            f"model {subject.name}: its outputs are of size {size:.0e}, and their squares no numbers; "
            "scale them in its forward."
        )
    if again.shape != out.shape or float((again - out).norm()) > REPEATED * float(out.norm()):
        raise InputError(
            f"model {subject.name}: two calls on the same samples in evaluation mode give different outputs, "
            "so that no error could be told from chance; draw nothing and keep no state in its forward when "
            "self.training is False."
        )


def _check_action(subject: Subject) -> None:
    """Refuses transformations that the data cannot take: another shape, or numbers that are not finite."""
    x, group = subject.data.x[:TRIED], subject.action.group
    if group.order > MOST_ELEMENTS:
        raise InputError(
            f"action: expected at most {MOST_ELEMENTS:,} elements, got the {group.order:,} of {group.name}; "
            "take a smaller group that acts in the same way."
        )
    still, started = True, time.perf_counter()
    stride = 1 + group.order // 8  # spread over the group, should the time not be enough for all
    for g in sorted(group.elements, key=lambda g: (g % stride, g)):
        if time.perf_counter() - started > CHECKING:
            break
        moved = subject.moved(g, x)
        if moved.shape != x.shape:
            raise InputError(
                f"action {subject.action.name}: expected {tuple(x.shape[1:])} for {subject.element_name(g)}, "
                f"got {tuple(moved.shape[1:])}."
            )
        check_finite(f"samples moved by {subject.element_name(g)}", moved)
        still = still and float((moved - x).norm()) <= MOVED * float(x.norm())
    if group.order < 2:
        raise InputError(f"action: expected two elements or more, got {group.name}.")
    if still:
        raise InputError(
            f"action {subject.action.name}: no element moves the samples, so that nothing would be tested; "
            "give samples that are not symmetric themselves, and an action that moves them."
        )
    if subject.target is not None:
        back = subject.moved_back(subject.others[0], subject.outputs(x))
        check_finite("outputs moved by the target action", back)


def _checked_labels(subject: Subject) -> AuditData:
    """Data of two classes or more, numbered as the network's outputs."""
    data = subject.data
    if isinstance(data, MaskData) and data.masks is not None:
        out, largest = subject.outputs(data.x[:1]), int(data.masks.max())
        if mask_scores(out, data.masks[:1], largest + 1) is None:
            raise InputError(
                f"model {subject.name}: expected scores of classes 0 to {largest} at the positions "
                f"{tuple(data.masks.shape[1:])} of the masks, got outputs of shape {tuple(out.shape[1:])}."
            )
    if not isinstance(data, LabelledData):
        return data
    if len(data.classes) < 2:
        raise InputError(f"{data.name}: expected two classes or more, got one, {data.classes[0]}.")
    if subject.class_names is not None and max(data.classes) >= len(subject.class_names):
        raise InputError(
            f"class_names: expected names for classes 0 to {max(data.classes)}, got "
            f"{len(subject.class_names)}."
        )
    outputs = subject.outputs(data.x[:1])
    if subject.target is not None or outputs.ndim > 2:
        return data
    count = 2 if outputs.shape[1] == 1 else outputs.shape[1]
    if min(data.classes) >= 0 and max(data.classes) < count:
        return data
    if len(data.classes) != count:
        raise InputError(
            f"model {subject.name}: expected an output for each class, {data.classes[0]} to "
            f"{data.classes[-1]}, got {outputs.shape[1]} outputs; if these are numbers to predict, say so: "
            "task='regression' (--task regression)."
        )
    places = torch.searchsorted(torch.tensor(data.classes), data.labels)  # the network numbers them from 0
    return replace(data, labels=places)
