"""Public functions, classes and methods, called as their examples do but for an argument or two."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, get_args, get_origin

import torch
from torch import Tensor

from tests.fuzz.examples import Target, copied, is_method, own_call, reached_calls, targets, with_example
from tests.fuzz.hostile import FLOATS, INTEGERS, changed_tensor, other_type, text
from tests.fuzz.outcome import Kind, Outcome, of_call

SIZES = (1, 2, 3, 5)


def api(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """A function with an example of its own."""
    name = random.choice(with_example())
    return changed_call(random, targets()[name], own_call(name))


def objects(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """A class, or a function without an example, that the examples of others reach."""
    calls = reached_calls()
    name = random.choice([name for name in calls if not is_method(name)])
    return changed_call(random, targets()[name], calls[name])


def methods(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """A method that examples reach."""
    calls = reached_calls()
    name = random.choice([name for name in calls if is_method(name)])
    return changed_call(random, targets()[name], calls[name])


def changed_call(
    random: Random, target: Target, good: Mapping[str, Any]
) -> tuple[str, Callable[[], Outcome]]:
    """A good call with one or two arguments changed."""
    parameters = target.signature.parameters
    given = {name: copied(value) for name, value in good.items() if name in parameters}
    given |= {
        name: one.default
        for name, one in parameters.items()
        if name not in given and one.default is not one.empty and random.random() < 0.3
    }
    open_to_change = [name for name in parameters if name != "self" and name in given]
    words, wrong_type = [], False
    for name in random.sample(open_to_change, min(len(open_to_change), random.choice((1, 1, 2)))):
        given[name], how, other = changed(random, given[name], parameters[name].annotation)
        words.append(f"{name}: {how}")
        wrong_type |= other
    # a quantity must be a number, unless its documentation says when it is none
    result = target.signature.return_annotation
    described = (target.function, target.owner, result, *get_args(result))
    told = " ".join(f"{inspect.getdoc(one)}" for one in described)
    finite = not re.search(r"(?i)\bnan\b|infinit|\binf\b", told) and not inspect.isclass(target.function)
    finite &= not getattr(inspect.unwrap(target.function), "may_be_infinite", False)

    def call() -> Outcome:
        outcome = of_call(lambda: called(target, given), wrong_type=wrong_type, finite=finite)
        if outcome.kind is Kind.NOT_FINITE:
            before = of_call(lambda: called(target, good), wrong_type=False, finite=True)
            return (
                Outcome(Kind.ACCEPTED)
                if before.kind is Kind.NOT_FINITE
                else replace(outcome, place=target.name)
            )
        if outcome.kind is Kind.TRACEBACK and re.search(rf"\b{outcome.place.split()[0]}:", told):
            return replace(outcome, kind=Kind.REFUSED)  # an exception that its documentation names
        return outcome

    return f"{target.name} with {'; '.join(words) or 'its own arguments'}", call


def called(target: Target, given: Mapping[str, Any]) -> Any:
    """Call with arguments by name, whatever their kind; a generator or an iterator is run to its end."""
    kinds = target.signature.parameters
    before = [
        value
        for name, value in given.items()
        if kinds[name].kind in (inspect.Parameter.POSITIONAL_ONLY,) or name == "self"
    ]
    several = [value for name, value in given.items() if kinds[name].kind is inspect.Parameter.VAR_POSITIONAL]
    named = {
        name: value
        for name, value in given.items()
        if kinds[name].kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        and name != "self"
    }
    for name, value in given.items():
        if kinds[name].kind is inspect.Parameter.VAR_KEYWORD and isinstance(value, Mapping):
            named |= value
    if several:  # what stands before *several has to be given by place
        ordered = [named.pop(name) for name in list(kinds) if name in named and
                   kinds[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]  # fmt: skip
        return target.function(*before, *ordered, *several[0], **named)
    result = target.function(*before, **named)
    return (
        [part for part, _ in zip(result, range(20), strict=False)] if inspect.isgenerator(result) else result
    )


def changed(random: Random, value: Any, annotation: Any) -> tuple[Any, str, bool]:
    """Another value for an argument, how it differs, and whether its Python type is wrong."""
    if random.random() < 0.12:
        other, how = other_type(random, value)
        return other, how, True
    if value is None:
        value = made(random, annotation)
    if isinstance(value, Tensor):
        wanted = shaped(random, annotation, value) if random.random() < 0.2 else value
        tensor, how = changed_tensor(random, wanted)
        return tensor, f"{how} -> {tuple(tensor.shape)} {tensor.dtype}", False
    if isinstance(value, bool):
        return not value, f"{not value}", False
    if isinstance(value, int):
        number = random.choice(INTEGERS)
        return number, shortened(number), False
    if isinstance(value, float):
        number = random.choice((*FLOATS, value))
        return number, f"{number}", False
    if isinstance(value, str):
        word = text(random)
        return word, shortened(word), False
    if isinstance(value, torch.dtype):
        kind = random.choice((torch.float16, torch.int64, torch.complex64, torch.bool, torch.float32))
        return kind, f"{kind}", False
    if isinstance(value, torch.nn.Module):
        return odd_module(random), "another module", True
    if isinstance(value, Mapping) and type(value) is dict:
        return changed_items(random, value, annotation)
    if isinstance(value, Sequence) and type(value) in (list, tuple):
        return changed_parts(random, value, annotation)
    if inspect.isroutine(value):
        return odd_function(random, value)
    other, how = other_type(random, value)
    return other, how, True


def shortened(value: Any) -> str:
    """A value that fits on a line."""
    shown = (
        f"{type(value).__name__} of {value.bit_length()} bits"
        if isinstance(value, int) and abs(value) > 10**40
        else repr(value)
    )
    return shown if len(shown) < 60 else f"{shown[:50]}... ({len(shown)} characters)"


def changed_parts(random: Random, value: Sequence[Any], annotation: Any) -> tuple[Any, str, bool]:
    """A list or tuple with a part changed, left out or doubled, or none at all."""
    parts = list(value)
    kind = random.randrange(4)
    if kind == 0 or not parts:
        return type(value)(), "empty", False
    place = random.randrange(len(parts))
    if kind == 1:
        return type(value)(parts[:place] + parts[place + 1 :]), f"without part {place}", False
    if kind == 2:
        return type(value)([*parts, parts[place]]), f"part {place} twice", False
    inside = get_args(annotation)
    parts[place], how, other = changed(random, parts[place], inside[0] if inside else None)
    return type(value)(parts), f"part {place} {how}", other


def changed_items(random: Random, value: Mapping[Any, Any], annotation: Any) -> tuple[Any, str, bool]:
    """A dictionary with an item changed, left out or added, or none at all."""
    kind = random.randrange(3)
    if kind == 0 or not value:
        return {}, "empty", False
    key = random.choice(list(value))
    if kind == 1:
        return {k: v for k, v in value.items() if k != key}, f"without {key!r}", False
    inside = get_args(annotation)
    item, how, other = changed(random, value[key], inside[-1] if inside else None)
    return {**value, key: item}, f"{key!r} {how}", other


def made(random: Random, annotation: Any) -> Any:
    """A value of an annotated type, where the example leaves the default None."""
    options = get_args(annotation) if get_origin(annotation) is types.UnionType else (annotation,)
    for kind in options:
        if is_shaped(kind):
            return shaped(random, kind, torch.zeros(1, dtype=torch.float64))
        if kind in (int, float, str, bool):
            return kind(1)
        if kind is Tensor:
            return torch.ones(2, 3, dtype=torch.float64)
    return None


def is_shaped(annotation: Any) -> bool:
    """Whether an annotation is a shape such as Float[Tensor, "n d"]."""
    return isinstance(getattr(annotation, "dim_str", None), str)


def shaped(random: Random, annotation: Any, like: Tensor) -> Tensor:
    """A tensor of the annotated shape with sizes of its own, whatever other arguments say about them."""
    kinds = get_args(annotation) if get_origin(annotation) is types.UnionType else (annotation,)
    for kind in kinds:
        if is_shaped(kind):
            sizes: dict[str, int] = {}
            shape: list[int] = []
            for axis in kind.dim_str.split():
                for k in range(random.randrange(3) if axis[0] == "*" or axis == "..." else 1):
                    number = (
                        int(axis) if axis.isdigit() else sizes.setdefault(f"{axis}{k}", random.choice(SIZES))
                    )
                    shape.append(number)
            return torch.ones(shape).to(like.dtype)
    return like


def odd_module(random: Random) -> torch.nn.Module:
    """A module that most functions have no use for."""
    nn = torch.nn
    small = nn.Sequential(nn.Linear(2, 3), nn.Softplus(), nn.Linear(3, 1))
    single = (nn.Linear(3, 2), nn.Conv2d(1, 2, 3), nn.LSTM(2, 2), nn.Embedding(3, 2), nn.BatchNorm1d(4))
    return random.choice((nn.Identity(), nn.Sequential(), nn.Dropout(), nn.ParameterList(), small, *single))


def odd_function(random: Random, good: Callable[..., Any]) -> tuple[Any, str, bool]:
    """A function that returns something else than the good one."""

    def spoilt(*arguments: Any, **named: Any) -> Any:
        result = good(*arguments, **named)
        return changed_tensor(random, result)[0] if isinstance(result, Tensor) else None

    how = random.randrange(3)
    if how == 0:
        return (lambda *arguments, **named: None), "a function that returns None", True
    if how == 1:
        return (lambda *arguments, **named: float("nan")), "a function that returns NaN", True
    return spoilt, "a function whose results are changed", True
