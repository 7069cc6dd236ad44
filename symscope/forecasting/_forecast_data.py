"""A forecast for programs: plain lists, numbers and words."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from symscope._version import __version__
from symscope.forecasting._full_kernel import FullKernelPrediction
from symscope.forecasting._options import ForecastOptions
from symscope.forecasting._pilot import PilotForecast
from symscope.forecasting._question import Question
from symscope.forecasting._result import Forecast
from symscope.forecasting._task_wording import TaskWording
from symscope.forecasting._trained_answer import TablePrediction, class_scores

FORMAT = 3


def forecast_data(forecast: Forecast) -> dict[str, Any]:
    """Everything a program may want, in plain lists and numbers; NaN becomes None."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "symscope": __version__,
        "verdict": forecast.verdict,
        "answer": forecast.answer,
        "accuracy": forecast.accuracy,
        "interval": list(forecast.interval),
        "error": forecast.error,
        "class_accuracy": forecast.class_accuracy,
        "question": _question_data(forecast.question),
        "model": {
            "name": forecast.model.name,
            "parameters": forecast.model.parameters,
            "layout": forecast.model.layout,
        },
        "method": forecast.method,
        "about": "new samples" if forecast.about_new else "training samples",
        "class_interval": forecast.class_interval,
        "samples": list(forecast.samples),
        "training": asdict(forecast.training),
        "options": _options_data(forecast.options),
        "prediction": _prediction_data(forecast),
        "pilot": _pilot_data(forecast.pilot),
        "check": _check_data(forecast),
        "equivariance": asdict(forecast.equivariance),
        "cautions": list(forecast.cautions),
        "notes": list(forecast.notes),
        "advice": [asdict(one) for one in forecast.advice],
        "ways_to_target": forecast.ways_to_target,
        "combinations": [asdict(one) for one in forecast.combinations],
        "seconds": forecast.seconds,
    }
    plain = _plain(data, forecast.question.task.words)
    assert isinstance(plain, dict)
    return plain


def _options_data(options: ForecastOptions) -> dict[str, Any]:
    """The options that decide the answer, not where it is computed and kept."""
    plain = {**asdict(options), "device": str(options.device)}
    return {name: value for name, value in plain.items() if name not in ("resume", "workers", "dask")}


def _question_data(question: Question) -> dict[str, Any]:
    coverage = question.coverage
    return {
        "task": question.task.kind,
        "data": {"name": question.data.name, "samples": len(question.data)},
        "group": question.group.name,
        "action": question.action.name,
        "stands_for": question.action.note or None,
        "target_action": _target_name(question),
        "elements": list(question.element_names),
        "classes": list(question.data.classes),
        "class_names": list(question.class_names),
        "coverage": None if coverage is None else coverage.text,
        "seen_share": None if coverage is None else _class_shares(question, coverage.seen),
        "target": question.target,
    }


def _target_name(question: Question) -> str | None:
    """How numbers to predict change; None for classes."""
    if question.targets is None:
        return None
    return "same" if question.target_action is None else question.target_action.name


def _class_shares(question: Question, seen: Bool[Tensor, "m n"]) -> Float[Tensor, "c n"]:
    """Share of the samples of each class that the training data holds in each element."""
    labels = question.data.labels.cpu()
    return torch.stack([seen[labels == label].double().mean(0) for label in question.data.classes])


def _pilot_data(pilot: PilotForecast | None) -> dict[str, Any] | None:
    if pilot is None:
        return None

    def prediction(one: TablePrediction | None) -> dict[str, Any] | None:
        if one is None:
            return None
        return {
            "table": one.table,
            "class_accuracy": one.class_score,
            "class_low": one.class_low,
            "class_high": one.class_high,
            "accuracy": one.mean,
            "interval": list(one.interval),
        }

    return {
        "known": prediction(pilot.known),
        "new": prediction(pilot.new),
        "covered": prediction(pilot.covered),
        "fitted": pilot.fitted,
        "plan": {
            **asdict(pilot.plan),
            "full": pilot.plan.full,
            "trainings": [asdict(one) for one in pilot.plan.trainings],
            "steps": pilot.plan.steps,
            "cost": pilot.plan.cost,
        },
        "seconds": pilot.seconds,
    }


def _full_data(full: FullKernelPrediction | None) -> dict[str, Any] | None:
    if full is None:
        return None
    tables = {"known": full.known, "new": full.new, "covered": full.covered}
    return {
        **{name: {"table": one.mean, "class_accuracy": class_scores(one)} for name, one in tables.items()},
        "samples": list(full.samples),
        "seconds": full.seconds,
    }


def _prediction_data(forecast: Forecast) -> dict[str, Any] | None:
    there = forecast.prediction
    if there is None:
        return None
    return {
        "kernel": there.kernel,
        "kernel_reason": there.kernel_reason,
        "invariance_error": there.invariance_error,
        "ridge": there.resample_prediction.ridge,
        "accuracy": there.accuracy,
        "class_accuracy": there.class_score,
        "full": _full_data(there.full),
        "resampled_class_accuracy": there.class_accuracy.mean(0),
        "class_error": there.class_error,
        "table": there.table,
        "confusion": there.confusion,
        "pair_error": there.pairs.error,
        "separation": there.pairs.separation,
        "density": there.pairs.density,
        "irreps": [asdict(one) for one in there.irreps],
        "limiting_irreps": [one.irrep for one in there.limiting_irreps],
        "notes": list(there.notes),
    }


def _check_data(forecast: Forecast) -> dict[str, Any] | None:
    there = forecast.check
    if there is None:
        return None
    return {
        "accuracy": there.accuracy,
        "error": forecast.trained_error,
        "class_accuracy": there.class_accuracy,
        "known_accuracy": there.known_accuracy,
        "second_accuracy": there.second_accuracy,
        "fitted": [there.first.fitted, there.second.fitted],
        "noise_floor": there.noise_floor,
        "underfit_optimisers": list(there.underfit_optimisers),
        "difference": forecast.difference,
        "plan": asdict(there.plan),
        "second_plan": asdict(there.second_plan),
        "equivariance": asdict(there.equivariance),
    }


def _plain(value: Any, words: TaskWording) -> Any:
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


def _key(key: str, words: TaskWording) -> str:
    """A key as it is for classes, in the words of the task."""
    return key.replace("accuracy", words.key).replace("classes", words.many).replace("class", words.one)
