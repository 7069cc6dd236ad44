"""Forecasts of one case, fixed before anything is trained, and then the trainings."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from symscope.forecasting import TrainingOptions
from symscope.forecasting.methods import (
    Design,
    DesignTrainer,
    PilotForecast,
    PilotPlan,
    Question,
    Remedies,
    ScoreTable,
    StepCost,
    TrainedAnswer,
    as_question,
    augmentation_trial,
    class_scores,
    forecast_samples,
    interleaved_designs,
    nearest_neighbours,
    pilot_forecast,
    pilot_plan,
    smallest_batch,
    training_check,
    true_designs,
)
from symscope.networks import user_model
from symscope.runs import CellContext, CellResults
from symscope.training import StepPlan
from symscope_papers.forecast.bank.audits import audit_rows
from symscope_papers.forecast.bank.baselines import kernel_scores, spectral_rule
from symscope_papers.forecast.bank.config import Bank, chosen_cases
from symscope_papers.forecast.bank.data import bank_action, bank_data
from symscope_papers.forecast.bank.networks import bank_network, parameter_count
from symscope_papers.forecast.coverages import case_coverage

SHORTEST = 2  # steps of a pilot at least
AUGMENTED = 5000  # added to the seed of the augmented training
LONG = {"noisy": 3000}  # steps of a whole training: 50 to 100 epochs, as people train on little data


def cells(config: Bank) -> list[dict[str, Any]]:
    """One case each; data that is missing fails here, before anything runs."""
    cases = chosen_cases(config)
    for name in {case["data"] for case in cases}:
        bank_data(name, 1, folders(config), 0)
    return [{name: value for name, value in case.items() if name != "held_out"} for case in cases]


def folders(config: Bank) -> dict[str, str]:
    """Where data sets are."""
    return {name: getattr(config, name) for name in ("mnist", "fashion", "cifar", "exported")}


def measure_cell(config: Bank, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """The forecasts of every cost, baselines, then two whole trainings for what was asked, one augmented."""
    question = bank_question(config, cell, context.run_seed)
    seed = context.seed % 2**20
    builder = bank_network(cell["network"], question.shape, question.outputs)
    model = user_model(builder, question.shape, question.outputs, name=cell["network"])
    samples = forecast_samples(question, context.run_seed)
    trainer = DesignTrainer(model, samples, torch.device(context.device))
    steps = config.steps or LONG.get(cell["data"])
    training = TrainingOptions(max_classes=config.left_out, steps=steps)
    designs = interleaved_designs(samples, question.group)
    plan = training.plan(builder(0), int(designs[0].seen.sum()))
    replaced = len(true_designs(samples, question.group))
    step = StepCost(smallest=smallest_batch(builder(0)))
    points = trainer.refit_points(designs[0])
    asked = true_designs(samples, question.group, config.left_out)
    began = time.perf_counter()
    pilots = {
        cost: pilot_forecast(
            trainer, question.group, plan_of_cost(cost, plan, len(designs), replaced, step, points), seed
        )
        for cost in config.costs
    }
    advice = remedy_forecasts(Remedies(question, trainer, pilots[max(config.costs)], seed))
    forecast_seconds = time.perf_counter() - began
    if not config.trainings:
        lacking = ~class_scores(pilots[max(config.costs)].answers[-1].headline).isnan()
        lacking &= torch.stack([one.missing.any(1) for one in asked]).any(0)
        remedies = [{"remedy": name, "forecast": value} for name, value in advice.items()]
        return {
            "pilots": [row for cost, pilot in pilots.items() for row in _pilot_rows(cost, pilot, lacking)],
            "advice": [] if question.coverage is None else remedies,
            "seconds": [{"forecast_seconds": forecast_seconds}],
        }
    baselines = {
        "nearest neighbour": class_scores(nearest_neighbours(samples, asked, trainer.device)),
        "kernel": kernel_scores(trainer, question, config.kernel_seconds),
        "spectral rule": spectral_rule(trainer, question, context.run_seed, config.kernel_seconds),
    }
    check, module = training_check(trainer, question, training, plan, seed)
    augmented = augmented_answer(trainer, asked, plan, seed + AUGMENTED)
    lacking = ~class_scores(check.first.headline).isnan()
    return {
        "cases": [
            {
                "steps": plan.steps,
                "batch": plan.batch,
                "points": int(designs[0].seen.sum()),
                "classes": samples.classes,
                "elements": samples.order,
                "parameters": parameter_count(builder(0)),
                "replaced": replaced,
                "fitted": check.first.fitted,
                "second_fitted": check.second.fitted,
                "forecast_seconds": forecast_seconds,
                "training_seconds": check.seconds,
            }
        ],
        "pilots": [row for cost, pilot in pilots.items() for row in _pilot_rows(cost, pilot, lacking)],
        "audits": audit_rows(question, trainer, asked[0], module, seed),
        "trained": _trained_rows(check.first, check.second, lacking),
        "baselines": [
            {"baseline": name, "position": k, "accuracy": float(values[k])}
            for name, values in baselines.items()
            if values is not None
            for k in lacking.nonzero()[:, 0].tolist()
        ],
        "remedies": []
        if question.coverage is None
        else _remedy_rows(advice, check.first, check.second, augmented, lacking),
    }


def bank_question(config: Bank, cell: Mapping[str, Any], seed: int) -> Question:
    """The data of a case, what acts on it, and what of it the training data holds."""
    known, new = bank_data(cell["data"], cell["samples"], folders(config), seed)
    action = bank_action(cell["data"], cell["action"], known.x.shape[-1])
    group = as_question(known, action).group
    coverage = case_coverage(cell["coverage"], known.classes, group)
    return as_question(known, action, new=new, seed=seed, **coverage)


def plan_of_cost(
    cost: float, whole: StepPlan, designs: int, replaced: int, step: StepCost, points: int = 0
) -> PilotPlan:
    """The pilot trainings that see a share of the points of those they replace, again and again.

    Args:
        cost: Share of the steps, each of as many points.
        whole: Whole training.
        designs: Trainings that answer for every class once.
        replaced: Whole trainings that would answer without a forecast.
        step: What steps cost by their batch.
        points: Points that the last layer of each pilot may be fitted to.

    >>> from symscope.training import Optimiser
    >>> whole = StepPlan(600, 128, Optimiser("adam", 1e-3))
    >>> plan = plan_of_cost(0.1, whole, designs=1, replaced=1, step=StepCost())
    >>> plan.lengths, plan.trainings[0].steps, plan.trainings[0].batch
    ((60,), 600, 12)
    >>> plan = plan_of_cost(0.1, whole, designs=1, replaced=10, step=StepCost())
    >>> plan.lengths, plan.repeats
    ((200,), 3)
    """
    full = whole.steps
    affordable = cost * full * replaced
    usual = pilot_plan(1.0, whole, designs, replaced, affordable, step=step, points=points, several=False)
    if usual is not None:
        return usual
    longest = max(SHORTEST, int(affordable / designs))
    tried = max(SHORTEST, longest // 3)
    spent = float(longest * designs)
    return PilotPlan((longest,), 1, designs, whole, replaced, tried, 0, spent, step, points)


def remedy_forecasts(remedies: Remedies) -> dict[str, float]:
    """What is predicted for nothing, for averaging and for training on all elements."""
    rows = remedies.free()
    if not any(one.kind == "augment" for one in rows):
        setting = (remedies.question, remedies.trainer, remedies.pilot.plan, remedies.seed)
        rows += [row for trial in augmentation_trial(*setting) for row in remedies.tried(trial)]
    return {"nothing": remedies.pilot.headline.mean} | {one.kind: one.accuracy for one in rows}


def augmented_answer(
    trainer: DesignTrainer, designs: list[Design], plan: StepPlan, seed: int
) -> TrainedAnswer:
    """A training on every element of every sample, asked about what the designs lack."""
    missing: Bool[Tensor, "c n"] = torch.stack([one.missing for one in designs]).any(0)
    everything = Design(torch.ones_like(designs[0].seen), missing)
    module = trainer.train(everything, plan, seed)
    return trainer.evaluate(module, everything, plan.steps)


def _pilot_rows(cost: float, pilot: PilotForecast, lacking: Bool[Tensor, "c"]) -> list[dict[str, Any]]:
    """Each class on known and new samples after the pilot, and what the correction is made of."""
    answer = pilot.answers[-1]
    covered = _rowwise(answer.covered)
    near, sure, fit = map(class_scores, (answer.near, answer.sure, answer.fit))
    rows = []
    for kind in ("known", "new"):
        table = getattr(answer, kind)
        scores = class_scores(table)
        rows += [
            {
                "cost": cost,
                "kind": kind,
                "position": k,
                "length": pilot.plan.lengths[-1],
                "repeats": pilot.plan.repeats,
                "steps": pilot.plan.trainings[-1].steps,
                "batch": pilot.plan.trainings[-1].batch,
                "progress": pilot.plan.progress,
                "after": float(scores[k]),
                "points": int(table.count[k].sum()),
                "cells": int((table.count[k] > 0).sum()),
                "covered": float(covered[k]),
                "near": float(near[k]),
                "sure": float(sure[k]),
                "fitted": float(fit[k]),
                "asymmetry": answer.asymmetry,
            }
            for k in lacking.nonzero()[:, 0].tolist()
        ]
    return rows


def _trained_rows(
    first: TrainedAnswer, second: TrainedAnswer, lacking: Bool[Tensor, "c"]
) -> list[dict[str, Any]]:
    covered = [_rowwise(one.covered) for one in (first, second)]
    scores = {
        kind: [class_scores(getattr(one, kind)) for one in (first, second)] for kind in ("known", "new")
    }
    return [
        {
            "kind": kind,
            "position": k,
            "accuracy": float(both[0][k]),
            "second_accuracy": float(both[1][k]),
            "covered": float(covered[0][k]),
            "second_covered": float(covered[1][k]),
        }
        for kind, both in scores.items()
        for k in lacking.nonzero()[:, 0].tolist()
    ]


def _remedy_rows(
    advice: Mapping[str, float],
    first: TrainedAnswer,
    second: TrainedAnswer,
    augmented: TrainedAnswer,
    lacking: Bool[Tensor, "c"],
) -> list[dict[str, Any]]:
    """What was predicted and reached on new samples, mean over classes that lack something."""

    def mean(table: ScoreTable) -> float:
        return float(class_scores(table)[lacking].nanmean())

    reached = {
        "nothing": (mean(first.headline) + mean(second.headline)) / 2,
        "average": (mean(first.averaged) + mean(second.averaged)) / 2,
        "augment": mean(augmented.headline),
    }
    return [
        {"remedy": name, "forecast": value, "accuracy": reached[name]}
        for name, value in advice.items()
        if name in reached
    ]


def _rowwise(table: ScoreTable) -> Float64[Tensor, "c"]:
    """All points of each class together; NaN without any."""
    return table.total.sum(1) / table.count.sum(1)
