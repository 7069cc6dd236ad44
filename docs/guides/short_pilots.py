"""Short pilots of networks that predict numbers, against whole trainings of 600 steps.

python docs/guides/short_pilots.py          the table of targets-that-transform.md, about three minutes
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from moving_targets import displaced, flow_net
from torch import nn
from torch.nn import functional

from symscope.data import MeasuredData, mnist_sample
from symscope.forecasting import TrainingOptions
from symscope.forecasting.methods import (
    DesignTrainer,
    PilotPlan,
    StepCost,
    as_question,
    class_scores,
    forecast_samples,
    pilot_forecast,
    predict_table,
    true_designs,
)
from symscope.networks import user_model

FULL = 600
LENGTHS = (60, 180)


def spread() -> MeasuredData:
    """Digits, and how far their ink is from the middle: no turn changes it."""
    x = functional.avg_pool2d(mnist_sample().x[:500, None], 2)[:, 0]
    r = torch.arange(14.0, dtype=torch.float64) - 6.5
    y = (x * (r[:, None] ** 2 + r**2)).sum((1, 2)) / x.sum((1, 2))
    return MeasuredData(x, y, "spread", "made")


def forces() -> MeasuredData:
    """Six points in space, and the force of the others on the first."""
    x = torch.randn(300, 6, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    x[:, :, 2] += torch.linspace(-2, 2, 6, dtype=torch.float64)
    apart = x[:, :, None] - x[:, None]
    force = -(apart * torch.exp(-apart.square().sum(-1, keepdim=True))).sum(2)[:, 0]
    return MeasuredData(x, force, "forces", "made")


def widths() -> MeasuredData:
    """Series with a bump early in them, and its width."""
    generator = torch.Generator().manual_seed(5)
    centre, width, height = torch.rand(3, 300, 1, generator=generator, dtype=torch.float64)
    width = 1.5 + 3 * width
    bump = torch.exp(-(((torch.arange(48.0) - 8 - 4 * centre) / width) ** 2))
    noise = 0.1 * torch.randn(300, 48, generator=generator, dtype=torch.float64)
    return MeasuredData(((0.5 + height) * bump + noise)[:, None], width[:, 0], "widths", "made")


def lengths() -> MeasuredData:
    """Oblong spots that lean by up to 60°, and how long they are."""
    generator = torch.Generator().manual_seed(6)
    angle, size = torch.rand(2, 400, 1, 1, generator=generator, dtype=torch.float64)
    angle, size = angle * math.pi / 3, 1 + 2 * size
    r = torch.arange(12.0, dtype=torch.float64) - 5.5
    along = r * angle.cos() + r[:, None] * angle.sin()
    across = r[:, None] * angle.cos() - r * angle.sin()
    noise = 0.05 * torch.randn(400, 12, 12, generator=generator, dtype=torch.float64)
    x = torch.exp(-((along / (1.2 * size)) ** 2) - (across / 1.2) ** 2) + noise
    return MeasuredData(x, size[:, 0, 0], "lengths", "made")


def dense(inputs: int, outputs: int) -> nn.Module:
    """Two hidden layers."""
    hidden = [nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(128, outputs))


def series_net() -> nn.Module:
    """Convolutions over time, then every moment has weights of its own."""
    return nn.Sequential(
        nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 48, 1),
    )  # fmt: skip


def image_net() -> nn.Module:
    """A CNN with batch norm and max pool."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(16 * 36, 64), nn.ReLU(), nn.Linear(64, 1),
    )  # fmt: skip


CASES: tuple[tuple[Callable[[], MeasuredData], Any, str, str], ...] = (
    (displaced, flow_net, "C4", "vector"),
    (spread, lambda: dense(196, 1), "C8", "same"),
    (forces, lambda: dense(18, 3), "O points", "vector"),
    (widths, series_net, "C8 shift-x", "same"),
    (lengths, image_net, "C8", "same"),
)


def main() -> None:
    """A row for each case and length of the pilot: by the curve alone, and as forecast."""
    for data, net, group, target in CASES:
        question = as_question(data(), group, seen="upright", target_action=target)
        model = user_model(net, question.shape, question.outputs, name=data.__name__)
        samples = forecast_samples(question, 0)
        trainer = DesignTrainer(model, samples, torch.device("cpu"))
        whole = TrainingOptions(steps=FULL, batch=64).plan(model.builder(0), len(samples.known))
        [design] = true_designs(samples, question.group)
        trained = [trainer.evaluate(trainer.train(design, whole, 1000 + k), design, FULL) for k in (0, 1)]
        reached = ", ".join(f"{float(class_scores(one.new).nanmean()):.2f}" for one in trained)
        for steps in LENGTHS:
            plan = PilotPlan((steps // 3, steps), 1, 1, whole, 1, steps // 3, 0, 0.0, StepCost())
            pilot = pilot_forecast(trainer, question.group, plan, 0)
            curve = predict_table([one.new for one in pilot.answers], plan, False, pilot.fitted)
            answers = [f"{one.mean:.2f} ({one.interval[0]:.2f} to {one.interval[1]:.2f})"
                       for one in (curve, pilot.headline)]  # fmt: skip
            after = float(class_scores(pilot.answers[-1].new).nanmean())
            print(
                f"| {data.__name__}, {question.group.name} | {steps} | {pilot.fitted:.2f} | {after:.2f} "
                f"| {answers[0]} | {answers[1]} | {reached} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
