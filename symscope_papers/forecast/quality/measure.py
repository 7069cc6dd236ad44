"""Forecasts of one case, trainings of it, and what its trained kernels predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.forecasting.methods import (
    Question,
    accuracy_interval,
    draw_resample,
    tangent_kernel,
)
from symscope.networks import user_model
from symscope.runs import CellContext, CellResults
from symscope_papers.forecast.quality.config import EPOCHS, FEWEST, Quality
from symscope_papers.forecast.quality.data import quality_question
from symscope_papers.forecast.quality.left_out_case import (
    LeaveOutCase,
    LeftOutNetworks,
    TrainingPlan,
    train_left_out,
    training_plan,
)
from symscope_papers.forecast.quality.networks import network
from symscope_papers.forecast.quality.variants import (
    BORROWED,
    after_pilot,
    architecture,
    architecture_gram,
    by_logistic,
    calibrate_forecast,
    initial,
    refits,
)


def cells(config: Quality) -> list[dict[str, Any]]:
    """One case each: data, what acts on them, network."""
    cells = []
    for dataset in config.datasets:
        actions = config.point_actions if dataset == "points" else config.actions
        # data that is missing fails here, before anything runs
        quality_question(dataset, actions[0], config.classes, config.mnist, 0)
        names = [name for name in config.networks if dataset != "points" or name.startswith("mlp")]
        names = [name for name in names if f"{dataset}:{name}" not in config.skipped]
        cells += [
            {"dataset": dataset, "action": action, "network": name} for action in actions for name in names
        ]
    return cells


def measure_cell(config: Quality, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Forecasts of one case, trainings of it, and what its trained kernels predict."""
    asked = quality_question(cell["dataset"], cell["action"], config.classes, config.mnist, context.run_seed)
    task = _task(config, cell["network"], asked, context)
    result = _architecture(config, asked, task, context.run_seed)
    points = len(task.draw.flat)
    epochs = max(EPOCHS, -(-config.steps // -(-points // config.batch)))
    how = training_plan(task.model.builder(0), epochs, config.batch)
    runs = _trainings(task, how, cell["network"])
    for k in config.pilots:
        pilot = train_left_out(task, task.model.builder, k, how.batch, how.optimiser, how.batched)
        regression, linearised = after_pilot(task, pilot, config.kernel_repeats, config.logistic_steps)
        result |= {f"pilot-{k}": regression, f"linearised-{k}": linearised, f"own-{k}": pilot.missing}
    last = config.pilots[-1]
    result[f"calibrated-{last}"] = calibrate_forecast(result["architecture"], result[f"own-{last}"], BORROWED)
    result["borrowed"] = calibrate_forecast(result["architecture"], runs["base"].missing, None)
    per_class = len(task.draw.labels) // task.draw.one_hot.shape[1]
    kernel = tangent_kernel(task.model, asked.shape, "auto")
    return {
        "cases": [
            {
                "points": points,
                "items": per_class,
                "classes": task.draw.one_hot.shape[1],
                "epochs": epochs,
                "steps": epochs * -(-points // config.batch),
                "kernel": kernel.name,
            }
        ],
        "forecasts": _forecast_rows(result, task, per_class),
        "means": _mean_rows(result, per_class),
        "trainings": [row for name, run in runs.items() for row in _training_rows(name, run, task)],
        "refits": refits(task, runs["base"], config.kernel_repeats, config.logistic_steps),
    }


def _task(config: Quality, name: str, asked: Question, context: CellContext) -> LeaveOutCase:
    classes = len(asked.data.classes)
    most = config.points // (classes * asked.group.order)
    samples = max(FEWEST, min(config.per_class, most, asked.smallest_class))
    model = user_model(network(name, asked.shape, classes), asked.shape, classes, name=name)
    chosen = torch.linspace(0, classes - 1, min(config.left_out, classes)).round().long().unique()
    first = context.seed % 2**31
    return LeaveOutCase(
        model,
        draw_resample(asked, samples, context.run_seed),
        asked.group,
        tuple(chosen.tolist()),
        tuple(first + k for k in range(config.repeats)),
        torch.device(context.device),
    )


def _architecture(
    config: Quality, asked: Question, task: LeaveOutCase, run_seed: int
) -> dict[str, Float64[Tensor, "_ _"]]:
    """What needs no training at all."""
    tangent = tangent_kernel(task.model, asked.shape, "auto")
    samples = len(task.draw.labels) // task.draw.one_hot.shape[1]
    gram = architecture_gram(tangent, task, task.draw, run_seed)
    same = architecture(gram, task.draw, task.group, task.left_out)
    result = {"architecture": same, "logistic": by_logistic(gram, task, config.logistic_steps)}
    every = [same]
    for k in range(1, config.draws):
        draw = draw_resample(asked, samples, run_seed + k)
        gram = architecture_gram(tangent, task, draw, run_seed + k)
        every.append(architecture(gram, draw, task.group, task.left_out))
    result["architecture-draws"] = torch.cat(every)
    result["initial"] = initial(task, config.kernel_repeats)
    return result


def _trainings(task: LeaveOutCase, how: TrainingPlan, name: str) -> dict[str, LeftOutNetworks]:
    """The training that is forecast, and two that differ from it: in the optimiser, and in the width."""
    outputs, shape = task.model.outputs, tuple(task.draw.points.shape[2:])
    wide = user_model(network(name, shape, outputs, wider=2), shape, outputs, name=name)
    plain = (how.epochs, how.batch)
    return {
        "base": train_left_out(task, task.model.builder, *plain, how.optimiser, how.batched),
        "optimiser": train_left_out(task, task.model.builder, *plain, how.second_optimiser, how.batched),
        "width": train_left_out(task, wide.builder, *plain, how.optimiser, how.batched),
    }


def _forecast_rows(result: Mapping[str, Tensor], task: LeaveOutCase, samples: int) -> list[dict[str, Any]]:
    rows = []
    for variant, values in result.items():
        for k, label in enumerate(task.left_out):
            column = values[:, [k]]
            missing = bool(column.isnan().any())
            low, high = (float("nan"),) * 2 if missing else accuracy_interval(column, samples)
            rows.append(
                {"variant": variant, "label": label, "accuracy": column.mean(), "low": low, "high": high}
            )
    return rows


def _mean_rows(result: Mapping[str, Tensor], samples: int) -> list[dict[str, Any]]:
    rows = []
    for variant, values in result.items():
        missing = bool(values.isnan().any())
        low, high = (float("nan"),) * 2 if missing else accuracy_interval(values, samples)
        rows.append({"variant": variant, "accuracy": values.mean(), "low": low, "high": high})
    return rows


def _training_rows(name: str, run: LeftOutNetworks, task: LeaveOutCase) -> list[dict[str, Any]]:
    return [
        {
            "training": name,
            "repeat": s,
            "label": label,
            "accuracy": run.missing[s, k],
            "seen_accuracy": run.seen[s, k],
        }
        for s in range(len(task.seeds))
        for k, label in enumerate(task.left_out)
    ]
