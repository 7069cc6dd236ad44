"""How good forecasts are: over architectures, groups and data, against networks that were then trained.

For every case some items of every class are shown in all transformations, but for one class, which lacks
them untransformed. Forecasts of the accuracy there are compared with trained networks, class by class, and
their error with that of a training itself as forecast of another that differs in optimiser or width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.errors import InputError, nearest
from symscope.forecasting import CheckOptions
from symscope.forecasting.methods import (
    HELD_STEPS,
    STEPS,
    Question,
    TrainingPlan,
    accuracy_interval,
    draw_resample,
    tangent_kernel,
)
from symscope.networks import user_model
from symscope.runs import CellContext, CellResults, Experiment, Preset
from symscope_papers.forecast import PAPER
from symscope_papers.forecast.quality_claims import claims
from symscope_papers.forecast.quality_data import DATASETS, IMAGE_ACTIONS, POINT_ACTIONS, problem
from symscope_papers.forecast.quality_figures import plots
from symscope_papers.forecast.quality_networks import NETWORKS, network
from symscope_papers.forecast.quality_task import Task, Trained, trained
from symscope_papers.forecast.quality_variants import (
    BORROWED,
    after_pilot,
    architecture,
    architecture_gram,
    by_logistic,
    calibrated,
    initial,
    refits,
)

FEWEST = 2  # items of a class
EPOCHS = 25  # of a full training at least


@final
@dataclass(frozen=True)
class Quality:
    """Config of `forecast/quality`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        datasets: Which of "mnist", "mnist-14", "digits", "points".
        actions: Of images: "C4", "C8", "C16", "C32" rotations, "flip", "shift", "D4".
        point_actions: Of sets of points: "C8", "S4".
        networks: Which architectures; sets of points are given to the MLPs alone.
        skipped: Pairs "dataset:network" that are left out, because they take long.
        classes: At most so many classes of the data.
        left_out: At most so many of them are left out in turn, spread over all.
        per_class: Items of each class, fewer where points would be too many.
        points: At most so many points in all.
        draws: Draws of items, for the forecast's interval.
        repeats: Trainings that differ in seed alone.
        kernel_repeats: How many of them have their kernels computed.
        pilots: Epochs of the short trainings, ascending.
        steps: Of the full training at least; it takes 25 epochs or more, as the forecast's own check does.
        batch: Points per step.
        logistic_steps: Of logistic regression with a kernel.
    """

    mnist: str = "sample"
    datasets: tuple[str, ...] = tuple(DATASETS)
    actions: tuple[str, ...] = IMAGE_ACTIONS
    point_actions: tuple[str, ...] = POINT_ACTIONS
    networks: tuple[str, ...] = tuple(NETWORKS)
    skipped: tuple[str, ...] = ()
    classes: int = 10
    left_out: int = 10
    per_class: int = 10
    points: int = 1920
    draws: int = 4
    repeats: int = 3
    kernel_repeats: int = 1
    pilots: tuple[int, ...] = (1, 3, 10)
    steps: int = STEPS
    batch: int = 32
    logistic_steps: int = HELD_STEPS

    def __post_init__(self) -> None:
        for name, known in (
            ("datasets", DATASETS),
            ("actions", IMAGE_ACTIONS),
            ("point_actions", POINT_ACTIONS),
            ("networks", NETWORKS),
        ):
            values = getattr(self, name)
            for value in values:
                if value not in known:
                    raise InputError(f"{name}: no {value!r}: {nearest(value, known)}")
            if not values or len(set(values)) < len(values):
                raise InputError(f"{name}: expected different values, at least one, got {values}")
        for pair in self.skipped:
            dataset, _, name = pair.partition(":")
            if dataset not in self.datasets or name not in self.networks:
                raise InputError(f"skipped: expected dataset:network of those asked for, got {pair!r}")
        for name, least in (
            ("classes", 2),
            ("left_out", 1),
            ("per_class", FEWEST),
            ("draws", 1),
            ("repeats", 1),
            ("kernel_repeats", 1),
            ("steps", 1),
            ("batch", 1),
            ("logistic_steps", 1),
        ):
            if getattr(self, name) < least:
                raise InputError(f"{name}: expected {least} or more, got {getattr(self, name)}")
        if self.kernel_repeats > self.repeats:
            raise InputError(
                f"kernel_repeats: at most the repeats, {self.repeats}; got {self.kernel_repeats}"
            )
        if not self.pilots or min(self.pilots) < 1 or list(self.pilots) != sorted(set(self.pilots)):
            raise InputError(f"pilots: expected ascending numbers of epochs from 1 on, got {self.pilots}")
        if self.pilots[-1] >= EPOCHS:
            raise InputError(
                f"pilots: expected fewer epochs than the full training's {EPOCHS}, got {self.pilots}"
            )


def quality_cells(config: Quality) -> list[dict[str, Any]]:
    """One case each: data, what acts on them, network."""
    cells = []
    for dataset in config.datasets:
        actions = config.point_actions if dataset == "points" else config.actions
        problem(dataset, actions[0], config.classes, config.mnist, 0)  # data that is not there is told first
        names = [name for name in config.networks if dataset != "points" or name.startswith("mlp")]
        names = [name for name in names if f"{dataset}:{name}" not in config.skipped]
        cells += [
            {"dataset": dataset, "action": action, "network": name} for action in actions for name in names
        ]
    return cells


def quality_cell(config: Quality, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Forecasts of one case, trainings of it, and what its trained kernels say."""
    asked = problem(cell["dataset"], cell["action"], config.classes, config.mnist, context.run_seed)
    task = _task(config, cell["network"], asked, context)
    found = _architecture(config, asked, task, context.run_seed)
    points = len(task.draw.flat)
    epochs = max(EPOCHS, -(-config.steps // -(-points // config.batch)))
    how = CheckOptions(epochs=epochs, batch=config.batch).plan(task.model.builder(0), points)
    runs = _trainings(task, how, cell["network"])
    for k in config.pilots:
        pilot = trained(task, task.model.builder, k, how.batch, how.optimiser, how.batched)
        regression, linearised = after_pilot(task, pilot, config.kernel_repeats, config.logistic_steps)
        found |= {f"pilot-{k}": regression, f"linearised-{k}": linearised, f"own-{k}": pilot.missing}
    last = config.pilots[-1]
    found[f"calibrated-{last}"] = calibrated(found["architecture"], found[f"own-{last}"], BORROWED)
    found["borrowed"] = calibrated(found["architecture"], runs["base"].missing, None)
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
        "forecasts": _forecast_rows(found, task, per_class),
        "means": _mean_rows(found, per_class),
        "trainings": [row for name, run in runs.items() for row in _training_rows(name, run, task)],
        "refits": refits(task, runs["base"], config.kernel_repeats, config.logistic_steps),
    }


def _task(config: Quality, name: str, asked: Question, context: CellContext) -> Task:
    classes = len(asked.data.classes)
    most = config.points // (classes * asked.group.order)
    items = max(FEWEST, min(config.per_class, most, asked.smallest_class))
    model = user_model(network(name, asked.shape, classes), asked.shape, classes, name=name)
    chosen = torch.linspace(0, classes - 1, min(config.left_out, classes)).round().long().unique()
    first = context.seed % 2**31
    return Task(
        model,
        draw_resample(asked, items, context.run_seed),
        asked.group,
        tuple(chosen.tolist()),
        tuple(first + k for k in range(config.repeats)),
        torch.device(context.device),
    )


def _architecture(
    config: Quality, asked: Question, task: Task, run_seed: int
) -> dict[str, Float64[Tensor, "_ _"]]:
    """What needs no training at all."""
    tangent = tangent_kernel(task.model, asked.shape, "auto")
    items = len(task.draw.labels) // task.draw.one_hot.shape[1]
    gram = architecture_gram(tangent, task, task.draw, run_seed)
    same = architecture(gram, task.draw, task.group, task.left_out)
    found = {"architecture": same, "logistic": by_logistic(gram, task, config.logistic_steps)}
    every = [same]
    for k in range(1, config.draws):
        draw = draw_resample(asked, items, run_seed + k)
        gram = architecture_gram(tangent, task, draw, run_seed + k)
        every.append(architecture(gram, draw, task.group, task.left_out))
    found["architecture-draws"] = torch.cat(every)
    found["initial"] = initial(task, config.kernel_repeats)
    return found


def _trainings(task: Task, how: TrainingPlan, name: str) -> dict[str, Trained]:
    """The training that is forecast, and two that differ from it: in the optimiser, and in the width."""
    outputs, shape = task.model.outputs, tuple(task.draw.points.shape[2:])
    wide = user_model(network(name, shape, outputs, wider=2), shape, outputs, name=name)
    plain = (how.epochs, how.batch)
    return {
        "base": trained(task, task.model.builder, *plain, how.optimiser, how.batched),
        "optimiser": trained(task, task.model.builder, *plain, how.second_optimiser, how.batched),
        "width": trained(task, wide.builder, *plain, how.optimiser, how.batched),
    }


def _forecast_rows(found: Mapping[str, Tensor], task: Task, items: int) -> list[dict[str, Any]]:
    rows = []
    for variant, values in found.items():
        for k, label in enumerate(task.left_out):
            column = values[:, [k]]
            missing = bool(column.isnan().any())
            low, high = (float("nan"),) * 2 if missing else accuracy_interval(column, items)
            rows.append(
                {"variant": variant, "label": label, "accuracy": column.mean(), "low": low, "high": high}
            )
    return rows


def _mean_rows(found: Mapping[str, Tensor], items: int) -> list[dict[str, Any]]:
    rows = []
    for variant, values in found.items():
        missing = bool(values.isnan().any())
        low, high = (float("nan"),) * 2 if missing else accuracy_interval(values, items)
        rows.append({"variant": variant, "accuracy": values.mean(), "low": low, "high": high})
    return rows


def _training_rows(name: str, run: Trained, task: Task) -> list[dict[str, Any]]:
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


quality = Experiment(
    id="forecast/quality",
    paper=PAPER,
    figure="beyond the papers",
    shows="How far forecasts are from trained networks, beside how far trainings are from each other.",
    config=Quality,
    presets={
        "quick": Preset(
            Quality(
                datasets=("mnist", "points"),
                actions=("C4", "C8", "flip"),
                point_actions=("C8",),
                networks=("mlp-1", "mlp-2"),
                classes=5,
                left_out=3,
                steps=100,
                per_class=4,
                draws=3,
                repeats=2,
                kernel_repeats=1,
                logistic_steps=200,
            ),
            "3 min on two busy cores",
        ),
        "cores": Preset(
            Quality(
                datasets=("mnist-14", "digits", "points"),
                skipped=("mnist-14:vit",),
                classes=5,
                left_out=3,
                points=480,
                repeats=2,
            ),
            "two to three hours on one core; needs scikit-learn",
        ),
        "paper": Preset(
            Quality(mnist="fetched", datasets=("mnist", "digits", "points")),
            "90 cells, meant for a GPU; needs MNIST and scikit-learn",
        ),
    },
    cells=quality_cells,
    measure=quality_cell,
    plot=plots,
    claims=claims,
)
