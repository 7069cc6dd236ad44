"""Accuracy of networks while they train, on the three sets of Fig. 1."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from symscope.data import rotation
from symscope.runs import CellContext, CellResults
from symscope.spectral import projected_profile
from symscope.spectral.circulant import one_versus_many, pair_errors
from symscope.training import MiniBatch, Optimiser, train_networks
from symscope_papers.digits import digits
from symscope_papers.spectral.classes.measure import turned_points
from symscope_papers.spectral.left_out import LeftOutData, left_out_data, nearest_rotation
from symscope_papers.spectral.networks.config import BUILDERS, CLASSES, RULE_SEEDS, RULE_TRIALS, Networks
from symscope_papers.spectral.wide_networks import section_kernels

RULE = "rule"


def cells(config: Networks) -> list[dict[str, Any]]:
    """One training each, those on the same points after each other: number of angles, network, digits.

    The largest number of angles, which takes half of all the time, comes last.
    """
    digits(config.mnist)  # missing files are reported before anything runs
    angles = sorted(config.angles)
    figure = [("figure", n, network, config.left_out) for n in angles for network in config.networks]
    long = [("long", config.long_angles, network, config.long_left_out) for network in config.long_networks]
    last = len(figure) - len(config.networks)
    cells = [{"part": RULE, "angles": n} for n in angles]
    for part, n, network, labels in [*figure[:last], *long, *figure[last:]]:
        groups = [labels] if network in config.together else [(label,) for label in labels]
        cells += [
            {"part": part, "angles": n, "network": network, "digits": ",".join(map(str, group))}
            for group in groups
        ]
    return cells


def measure_cell(config: Networks, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Train one network for each left-out digit of the cell; accuracy on the three sets as it goes.

    Or the accuracy of Sec. 3.4's rule at a number of angles, to hold the networks against.
    """
    if cell["part"] == RULE:
        return {"rule": rule_rows(config, cell["angles"], context)}
    labels = [int(word) for word in cell["digits"].split(",")]
    long = cell["part"] == "long"
    images = config.long_images if long else config.images
    dtype = torch.bfloat16 if config.mixed_precision else torch.float32
    seed, device = context.run_seed, context.device
    how = (config.prepared, config.rotations)
    data = rotated_digits(config.mnist, images, cell["angles"], seed, dtype, device, how)
    epochs = config.long_epochs if long else config.epochs
    settings = MiniBatch(
        epochs,
        config.batch,
        Optimiser("adam", config.learning_rate, betas=config.betas),
        mixed_precision=config.mixed_precision,
        compiled=config.compiled,
        measured_points=config.measured_points,
        measured_every=measured_every(epochs),
    )
    builder = BUILDERS[cell["network"]]
    result = train_networks(
        lambda seed: builder(seed, torch.float32),
        data.points,
        data.labels,
        data.train[labels],
        {name: mask[labels] for name, mask in data.tests.items()},
        settings,
        [context.seed % 2**31 + number for number in range(len(labels))],
    )
    return {
        "course": [
            {
                "left_out": label,
                "epoch": epoch,
                "loss": float(result.losses[epoch - 1, copy]),
                **{name: float(shares[at, copy]) for name, shares in result.measured.items()},
            }
            for copy, label in enumerate(labels)
            for at, epoch in enumerate(result.measured_at)
        ]
    }


def rule_rows(config: Networks, angles: int, context: CellContext) -> list[dict[str, Any]]:
    """Accuracy of the paper's rule for ten classes on left-out upright digits, as in Sec. 3.4."""
    source, group = digits(config.mnist), rotation(angles).group
    seeds = min(RULE_SEEDS, config.images or RULE_SEEDS)
    kernel = section_kernels("app-b3").ntk
    rows = []
    for trial in range(RULE_TRIALS):
        data = source.per_class(seeds, context.run_seed + trial)
        points = turned_points(data, angles, centred=False, device=torch.device(context.device))
        profile = projected_profile(kernel(points.points.flatten(1)), group).profile
        rule = one_versus_many(pair_errors(profile, group, 0.0), data.labels.to(points.device))
        rows.append({"trial": trial, "accuracy": float(rule.class_accuracy.mean())})
    return rows


def measured_every(epochs: int) -> int:
    """Epochs between two measurements: every one of a short training, fifty or so points of a long one.

    >>> measured_every(20), measured_every(1000)
    (1, 20)
    """
    return max(1, epochs // 50)


@lru_cache(maxsize=1)
def rotated_digits(
    mnist: str,
    images: int | None,
    angles: int,
    seed: int,
    dtype: torch.dtype,
    device: str,
    how: tuple[str, str],
) -> LeftOutData:
    """The points of Fig. 1, with masks for every left-out digit; kept until other points are asked for.

    Trainings on the same points follow each other, and rotating 60,000 digits takes as long as some epochs.
    """
    source = digits(mnist)
    if images is not None:
        source = source.per_class(images, seed)
    prepared, rotations = how
    action = rotation(angles) if rotations == "spline" else nearest_rotation(angles)
    return left_out_data(
        source.to(dtype=torch.float32),
        action,
        CLASSES,
        seed,
        prepared=prepared,
        dtype=dtype,
        device=device,
    )
