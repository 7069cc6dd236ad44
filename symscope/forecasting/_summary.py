"""A forecast in words and as plain data: the verdict, and what programs read."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from torch import Tensor

from symscope._version import __version__
from symscope.forecasting._answer import Forecast
from symscope.forecasting._equivariance import Equivariance
from symscope.forecasting._task import Words

FORMAT = 1


def answer(found: Forecast) -> str:
    """In two words at most: "Yes", "No", or "Not surely" where the target lies within the interval."""
    if found.expected >= found.target:
        return "Yes"
    return "No" if max(found.interval[1], found.expected) < found.target else "Not surely"


def verdict(found: Forecast) -> str:
    """The answer in one sentence.

    >>> from symscope.data import mnist_sample
    >>> from symscope.forecasting._answer import forecast
    >>> verdict(forecast("mlp", mnist_sample(), "C4", per_class=2, draws=1)).split(":")[0]
    'No'
    """
    low, high = found.interval
    words = found.problem.task.words
    basis = f"between {low:.0%} and {high:.0%}"
    if found.pilot is not None:
        basis += f" after a pilot training of {found.pilot.epochs} epochs"
    if found.missing is None:
        how = f"{found.problem.group.name}, {found.problem.action.name}"
        what = f"{words.unseen} ({how})"
    else:
        what = "the missing cases"
    does = words.does.format(share=f"{found.expected:.0%}", what=what)
    text = f"{answer(found)}: {found.model.name} is expected to {does}; {basis}, target {found.target:.0%}"
    if found.outcome is not None:
        text += (
            f"; trained, it {words.did.format(share=f'{found.outcome.accuracy:.0%}')}, and two trainings "
            f"differ by {found.outcome.noise_floor:.0%} a {words.one}"
        )
    return text + "."


def as_data(found: Forecast) -> dict[str, Any]:
    """Everything a program may want, in plain lists and numbers; NaN becomes None.

    For numbers to predict, keys say "explained" where they say "accuracy" for classes, and "group" for
    "class"; `expected` and `interval` are the same for both.
    """
    low, high = found.interval
    data: dict[str, Any] = {
        "format": FORMAT,
        "symscope": __version__,
        "verdict": verdict(found),
        "task": found.problem.task.kind,
        "model": {
            "name": found.model.name,
            "parameters": found.model.parameters,
            "layout": found.model.layout,
        },
        "data": {"name": found.problem.data.name, "items": len(found.problem.data)},
        "group": found.problem.group.name,
        "action": found.problem.action.name,
        "elements": list(found.problem.element_names),
        "kernel": {"name": found.kernel, "reason": found.kernel_reason, "departure": found.departure},
        "per_class": found.per_class,
        "draws": len(found.class_accuracy),
        "seed": found.seed,
        "target": found.target,
        "missing": None if found.missing is None else {str(k): list(v) for k, v in found.missing.items()},
        "classes": list(found.classes),
        "class_names": list(found.problem.class_names),
        "accuracy": found.accuracy,
        "interval": [low, high],
        "expected": found.expected,
        "class_accuracy": found.class_accuracy.mean(0),
        "class_error": found.class_error,
        "table": found.table,
        "confusion": found.confusion,
        "pair_error": found.pairs.error,
        "separation": found.pairs.separation,
        "density": found.pairs.density,
        "irreps": [asdict(one) for one in found.irreps],
        "limiting": [one.irrep for one in found.limiting],
        "densities": [asdict(one) for one in found.densities],
        "enough": None if found.enough is None else asdict(found.enough),
        "pilot": None
        if found.pilot is None
        else {"epochs": found.pilot.epochs, "class_accuracy": found.pilot.class_accuracy},
        "outcome": _outcome(found),
        "equivariance": _equivariance(found.equivariance),
        "equivariance_after": _equivariance(found.equivariance_after),
        "cautions": list(found.cautions),
        "advice": [asdict(one) for one in found.advice],
        "notes": list(found.notes),
        "seconds": found.seconds,
    }
    plain = _plain(data, found.problem.task.words)
    assert isinstance(plain, dict)
    return plain


def as_json(*forecasts: Forecast) -> str:
    """`as_data` as text; of several forecasts a list."""
    data = [as_data(found) for found in forecasts]
    shown = data[0] if len(data) == 1 else data
    return json.dumps(shown, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _outcome(found: Forecast) -> dict[str, Any] | None:
    there = found.outcome
    if there is None:
        return None
    difference = (found.expected_by_class - there.class_accuracy).abs()
    return {
        "accuracy": there.accuracy,
        "class_accuracy": there.class_accuracy,
        "seen_accuracy": there.seen_accuracy,
        "second_accuracy": there.second_accuracy,
        "second_seen_accuracy": there.second_seen_accuracy,
        "noise_floor": there.noise_floor,
        "mean_difference": float(difference.nanmean()),
        "kernel_moved": there.moved,
        "refit_accuracy": there.refit_accuracy,
        "losses": there.losses,
        "settings": asdict(there.settings),
    }


def _equivariance(measured: Equivariance | None) -> dict[str, Any] | None:
    return None if measured is None else asdict(measured)


def _plain(value: Any, words: Words) -> Any:
    """Lists, numbers and words, with the keys of the task."""
    if isinstance(value, Tensor):
        return _plain(value.tolist(), words)
    if isinstance(value, dict):
        return {_key(key, words): _plain(item, words) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, words) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _key(key: str, words: Words) -> str:
    """A key as it is for classes, said for the task."""
    return key.replace("accuracy", words.key).replace("classes", words.many).replace("class", words.one)
