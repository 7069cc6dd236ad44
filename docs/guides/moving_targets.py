"""Data of our own making whose targets change with the sample, and networks for it.

python docs/guides/moving_targets.py            the table of targets-that-transform.md, a minute and a half
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from symscope import forecast
from symscope.data import MeasuredData, mnist_sample
from symscope.forecasting import Forecast, TrainingOptions
from symscope.forecasting.methods import (
    Design,
    DesignTrainer,
    class_scores,
    forecast_samples,
    true_designs,
)

TRAINING = TrainingOptions(steps=600, batch=64)
CASES = (("displaced", "flow_net", "C4", "vector"), ("segmented", "mask_net", "D4", "image"))


def displaced() -> MeasuredData:
    """A digit, and the digit moved to the right by up to three pixels; the target is by how much."""
    digits, generator = _digits(600)
    angle = (torch.rand(600, generator=generator, dtype=torch.float64) - 0.5) * math.pi / 2
    size = 0.5 + 2.5 * torch.rand(600, generator=generator, dtype=torch.float64)
    moved_by = torch.stack([size * angle.cos(), size * angle.sin()], 1)  # x to the right, y up
    shift = torch.stack([-moved_by[:, 0], moved_by[:, 1]], 1) * 2 / 28  # rows run down
    still = torch.eye(2, 3, dtype=torch.float64).expand(600, 2, 3)
    grid = functional.affine_grid(still, [600, 1, 28, 28], align_corners=False)
    moved = functional.grid_sample(digits, grid + shift[:, None, None], align_corners=False)
    return MeasuredData(
        functional.avg_pool2d(torch.cat([digits, moved], 1), 2), moved_by, "displaced", "made"
    )


def segmented() -> tuple[Tensor, Tensor]:
    """Digits on a ground that is lit from above, with noise, and masks: 1 where the digit is, 0 elsewhere."""
    digits, generator = _digits(400)
    small = functional.avg_pool2d(digits, 2)[:, 0]
    light = torch.linspace(1.2, -0.2, 14, dtype=torch.float64)[:, None]
    noise = 0.1 * torch.randn(400, 14, 14, generator=generator, dtype=torch.float64)
    return small + light + noise, (small > 0.4).long()


def flow_net() -> nn.Module:
    """Two pictures in, a vector out."""
    return nn.Sequential(
        nn.Conv2d(2, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 2, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 49, 64), nn.ReLU(), nn.Linear(64, 2),
    )  # fmt: skip


def mask_net() -> nn.Module:
    """A picture in, a map for each of two classes out."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(),
        nn.Conv2d(16, 2, 3, padding=1),
    )  # fmt: skip


def _digits(count: int) -> tuple[Tensor, torch.Generator]:
    generator = torch.Generator().manual_seed(0)
    return mnist_sample().x[torch.randperm(2000, generator=generator)[:count], None], generator


def trained_remedies(answer: Forecast) -> tuple[float, float]:
    """What a whole training reaches when outputs are averaged, and when it is augmented."""
    samples = forecast_samples(answer.question, 0)
    trainer = DesignTrainer(answer.model, samples, torch.device("cpu"))
    [design] = true_designs(samples, answer.question.group)
    plain = trainer.train(design, answer.training, 1000)
    everything = Design(torch.ones_like(design.seen), design.missing)
    augmented = trainer.train(everything, answer.training, 1000)
    averaged = trainer.evaluate(plain, design, 0).averaged
    reached = trainer.evaluate(augmented, design, 0).new
    return float(class_scores(averaged).nanmean()), float(class_scores(reached).nanmean())


def print_case(label: str, network: Any, data: Any, group: str, target: str) -> None:
    """A row: forecast, trainings, noise floor, and remedies as predicted and as trained; then the verdict."""
    answer = forecast(
        network,
        data,
        group,
        target_action=target,
        seen="upright",
        train=True,
        training=TRAINING,
        budget="20s",
        name=label,
    )
    rows = {one.text.partition(":")[0].split(" ")[0]: one.accuracy for one in answer.advice[::-1]}
    averaged, augmented = trained_remedies(answer)
    predicted = [f"{rows[word]:.2f}" if word in rows else "–" for word in ("Average", "Augment")]
    check = answer.check
    assert check is not None
    second, (low, high) = float(check.second_accuracy.nanmean()), answer.interval
    print(
        f"| {label}, {answer.question.group.name} | {answer.accuracy:.2f} ({low:.2f} to {high:.2f}) "
        f"| {check.accuracy:.2f}, {second:.2f} | {answer.difference:.2f} | {check.noise_floor:.2f} "
        f"| {predicted[0]} / {averaged:.2f} | {predicted[1]} / {augmented:.2f} |"
    )
    print(answer.verdict)


def main() -> None:
    """A row for each case."""
    for data, net, group, target in CASES:
        print_case(data, globals()[net], globals()[data](), group, target)


if __name__ == "__main__":
    main()
