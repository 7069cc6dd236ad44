"""Whole trainings of one case, and what `forecast` says of it in a share of their time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.errors import BudgetError, DivergedError
from symscope.forecasting import Forecast, ForecastOptions, TrainingOptions, forecast
from symscope.forecasting.methods import (
    Design,
    DesignTrainer,
    TrainedAnswer,
    as_question,
    class_scores,
    forecast_samples,
    interleaved_designs,
    true_designs,
)
from symscope.networks import user_model
from symscope.runs import CellContext, CellResults
from symscope.training import StepPlan
from symscope_papers.forecast.bank.networks import parameter_count
from symscope_papers.forecast.budgets.config import Budgets, chosen_cases
from symscope_papers.forecast.budgets.data import case_action, case_data
from symscope_papers.forecast.budgets.networks import user_network
from symscope_papers.forecast.coverages import case_coverage

APART = 20_000  # added to the seeds of whole trainings: no forecast has them


@final
@dataclass(frozen=True)
class WholeTraining:
    """A network trained for every true design, and how long that took.

    Attributes:
        answer: What it reached.
        seconds: Seconds of one training.
        asked_seconds: Seconds of asking one network afterwards.
    """

    answer: TrainedAnswer
    seconds: float
    asked_seconds: float

    @property
    def accuracy(self) -> Float64[Tensor, "c"]:
        """Accuracy of each class on new samples at what it lacks; NaN where it lacks nothing."""
        return class_scores(self.answer.headline)


def cells(config: Budgets) -> list[dict[str, Any]]:
    """One case each."""
    return chosen_cases(config)


def measure_cell(config: Budgets, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Three whole trainings, two of them alike but for the seed, then a forecast in each budget."""
    known, new = case_data(cell["data"], cell["samples"], context.run_seed)
    action = case_action(cell["data"], cell["action"], tuple(known.x.shape[1:]))
    coverage = case_coverage(cell["coverage"], known.classes, action.group)
    seed = context.seed % 2**20
    question = as_question(known, action, new=new, seed=seed, **coverage)
    builder = user_network(cell["network"], question.shape, question.outputs)
    model = user_model(builder, question.shape, question.outputs, name=cell["network"])
    samples = forecast_samples(question, seed)
    trainer = DesignTrainer(model, samples, torch.device(context.device))
    training = TrainingOptions(steps=cell["steps"] or None)
    points = int(interleaved_designs(samples, question.group)[0].seen.sum())
    plan = training.plan(builder(0), points)
    replaced = len(true_designs(samples, question.group))
    designs = true_designs(samples, question.group, config.left_out)
    trainer.step_seconds(designs[0], plan)  # the first steps of a process take longer
    whole = {
        "first": whole_training(trainer, designs, plan, seed + APART),
        "second": whole_training(trainer, designs, plan, seed + 2 * APART),
        "other": other_training(trainer, designs, training.second(plan), plan, seed + 3 * APART),
    }
    seconds = (whole["first"].seconds + whole["second"].seconds) / 2 * replaced
    lacking = (~whole["first"].accuracy.isnan()).nonzero()[:, 0].tolist()
    asked, forecasts = [], []
    for share in config.shares:
        options = ForecastOptions(budget=share * seconds, seed=seed, device=context.device)
        began, refused, found = time.perf_counter(), "", None
        try:
            found = forecast(builder, known, action, new=new, training=training, options=options, **coverage)
        except BudgetError as error:
            refused = str(error)
        taken = time.perf_counter() - began
        facts = {"share": share, "budget": options.seconds, "seconds": taken, "refused": refused}
        asked.append(facts | answer_facts(found))
        forecasts += [] if found is None else forecast_rows(share, found, lacking)
    case = {
        "training_steps": plan.steps,
        "batch": plan.batch,
        "points": points,
        "classes": samples.classes,
        "elements": samples.order,
        "parameters": parameter_count(builder(0)),
        "replaced": replaced,
        "whole_seconds": seconds,
    }
    for name, one in whole.items():
        case |= {
            f"{name}_fitted": one.answer.fitted,
            f"{name}_seconds": one.seconds,
            f"{name}_asked_seconds": one.asked_seconds,
        }
    trained = [
        {"position": k} | {f"{name}_accuracy": float(one.accuracy[k]) for name, one in whole.items()}
        for k in lacking
    ]
    return {"cases": [case], "trained": trained, "asked": asked, "forecasts": forecasts}


def whole_training(
    trainer: DesignTrainer, designs: Sequence[Design], plan: StepPlan, seed: int
) -> WholeTraining:
    """A network trained for each design, and asked about what it lacks.

    Args:
        trainer: Network, samples and device.
        designs: True designs, of a sweep those of some classes.
        plan: Steps, batch and optimiser.
        seed: Seed for drawing weights and for the order of points.
    """
    answers, times = [], []
    for design in designs:
        moments = [time.perf_counter()]
        module = trainer.train(design, plan, seed)
        moments.append(time.perf_counter())
        answers.append(trainer.evaluate(module, design, plan.steps))
        times.append((moments[1] - moments[0], time.perf_counter() - moments[1]))
    seconds, asked = (sum(one) / len(designs) for one in zip(*times, strict=True))
    return WholeTraining(reduce(add, answers), seconds, asked)


def other_training(
    trainer: DesignTrainer, designs: Sequence[Design], other: StepPlan, plan: StepPlan, seed: int
) -> WholeTraining:
    """The same with the second optimiser, or with the first where the second diverges."""
    try:
        return whole_training(trainer, designs, other, seed)
    except DivergedError:
        return whole_training(trainer, designs, plan, seed)


def answer_facts(found: Forecast | None) -> dict[str, Any]:
    """How an answer was found, as plain values; nothing of one that was refused."""
    pilot = None if found is None else found.pilot
    return {
        "method": "refused" if found is None else found.method,
        "plan": "" if pilot is None else pilot.plan.text,
        "steps_share": 0.0 if pilot is None else pilot.plan.cost,
        "fitted": None if pilot is None else pilot.fitted,
        "remedies": 0 if found is None else len(found.advice),
        "notes": "" if found is None else " ".join(found.notes),
    }


def forecast_rows(share: float, found: Forecast, lacking: Sequence[int]) -> list[dict[str, Any]]:
    """The forecast of each class that networks were trained for, its interval, and what it is made of."""
    accuracy, ends, parts = found.class_accuracy, found.class_interval, correction_parts(found)
    return [
        {
            "share": share,
            "position": k,
            "method": found.method,
            "forecast": float(accuracy[k]),
            "low": float(ends[k, 0]),
            "high": float(ends[k, 1]),
            **{name: float(values[k]) for name, values in parts.items()},
        }
        for k in lacking
    ]


def correction_parts(found: Forecast) -> dict[str, Float64[Tensor, "c"]]:
    """What the correction of a pilot is made of, by class; NaN where an answer has no pilot."""
    nothing = torch.full_like(found.class_accuracy, torch.nan)
    names = ("after", "near", "sure", "fitted", "beside", "points", "progress")
    if found.pilot is None:
        return dict.fromkeys(names, nothing)
    pilot, answer = found.pilot, found.pilot.answers[-1]
    tables = (answer.new, answer.near, answer.sure, answer.fit)
    beside = nothing if pilot.neighbours is None else class_scores(pilot.neighbours)
    points = answer.new.count.sum(1).double()
    progress = torch.full_like(points, pilot.plan.plain_progress if answer.plain else pilot.plan.progress)
    return dict(zip(names, (*map(class_scores, tables), beside, points, progress), strict=True))
