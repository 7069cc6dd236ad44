"""Accuracy on left-out upright digits: the paper's rule, kernel regression and trained networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from symscope.data import LabelledData, rotation
from symscope.groups import FiniteGroup
from symscope.networks.architectures import ScaledLinear, digit_mlp
from symscope.runs import CellContext, CellResults
from symscope.spectral import class_masks, leave_out, leave_out_residual, precision, projected_profile
from symscope.spectral.circulant import one_versus_many, pair_errors
from symscope.training import MiniBatch, Optimiser, StoredPoints, train_networks
from symscope_papers.digits import digits
from symscope_papers.spectral.authors import scripts_weights
from symscope_papers.spectral.classes.config import CLASSES, Classes
from symscope_papers.spectral.pairs.orbits import rotated
from symscope_papers.spectral.wide_networks import section_kernels


def cells(config: Classes) -> list[dict[str, Any]]:
    """Angles, and groups of trials; the largest problems first, so that workers end together."""
    digits(config.mnist)  # missing files are reported before anything runs
    firsts = range(0, config.trials, config.together)
    return [{"angles": n, "first_trial": t} for n in sorted(config.angles, reverse=True) for t in firsts]


def measure_cell(config: Classes, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Accuracy of every method on every left-out class, for the trials of one cell."""
    first, device = cell["first_trial"], torch.device(context.device)
    trials = range(first, min(first + config.together, config.trials))
    source = digits(config.mnist)
    action = rotation(cell["angles"])
    data = [source.per_class(config.seeds, context.run_seed + trial) for trial in trials]
    points = [turned_points(one, cell["angles"], config.centred, device) for one in data]
    accuracy, agreement = [], []
    for trial, one, stored in zip(trials, data, points, strict=True):
        rows, agreed = kernel_rows(stored, one.labels.to(device), action.group, config)
        accuracy += [{"trial": trial, **row} for row in rows]
        agreement.append({"trial": trial, **agreed})
    accuracy += trained_rows(config, trials, data, points, context)
    return {"accuracy": accuracy, "agreement": agreement}


def turned_points(data: LabelledData, angles: int, centred: bool, device: torch.device) -> StoredPoints:
    """Every digit at every angle, one channel each, of unit norm."""
    orbits = rotated(data.x.to(device, torch.float64), angles, centred)
    return StoredPoints(orbits.flatten(0, 1).unflatten(1, (1, *data.x.shape[1:])), angles)


def kernel_rows(
    points: StoredPoints, classes: Int64[Tensor, "m"], group: FiniteGroup, config: Classes
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The paper's rule, regression over all points, and its group form; rule and regression with the NNGP
    kernel, too.

    Returns:
        Accuracies, and how far regression and its group form differ.
    """
    wide = section_kernels(config.network)
    x = points.points.flatten(1)
    gram = wide.ntk(x)
    projected = projected_profile(gram, group)
    other_gram = wide.nngp(x)
    other = projected_profile(other_gram, group).profile
    rule, nngp = (
        one_versus_many(pair_errors(profile, group, config.rule_ridge), classes)
        for profile in (projected.profile, other)
    )
    labels = nn.functional.one_hot(classes, CLASSES).to(gram.dtype)
    masks = class_masks(classes, group)
    grouped = leave_out(projected.profile, labels, masks, group, config.ridge)
    dense, dense_nngp = (
        dense_predictions(one, labels, masks, group, config.ridge) for one in (gram, other_gram)
    )
    rows, gaps = [], []
    for label in config.left_out:
        own = grouped.sets.cpu() == label
        by_group, by_dense = grouped.prediction.cpu()[own], dense[label].cpu()
        gaps.append(float((by_group - by_dense).abs().max()))
        for method, share in (
            ("rule", float(rule.class_accuracy[label])),
            ("rule, NNGP", float(nngp.class_accuracy[label])),
            ("regression", float((by_dense.argmax(1) == label).double().mean())),
            ("regression, NNGP", float((dense_nngp[label].cpu().argmax(1) == label).double().mean())),
            ("group form", float((by_group.argmax(1) == label).double().mean())),
        ):
            rows.append({"left_out": label, "method": method, "accuracy": share})
    return rows, {"largest_difference": max(gaps), "departure": projected.invariance_error}


def dense_predictions(
    gram: Float[Tensor, "p p"], labels: Float[Tensor, "m c"], masks: Tensor, group: FiniteGroup, ridge: float
) -> list[Float[Tensor, "_ c"]]:
    """Predictions at each class's upright images, from one factorisation over all points."""
    inverse = precision(gram, ridge)
    values = labels.repeat_interleave(group.order, 0)
    predictions = []
    for mask in masks:
        missing = mask.flatten().nonzero()[:, 0].to(gram.device)
        predictions.append(values[missing] - leave_out_residual(inverse, values, missing))
    return predictions


def trained_rows(
    config: Classes,
    trials: range,
    data: list[LabelledData],
    points: list[StoredPoints],
    context: CellContext,
) -> list[dict[str, Any]]:
    """One network for each trial and left-out class, all trained as one batched model."""
    order = points[0].order
    pool = StoredPoints(torch.cat([one.points for one in points]).float(), order)
    labels = torch.cat([one.labels for one in data]).to(pool.device).repeat_interleave(order)
    copies = [(t, label) for t in range(len(trials)) for label in config.left_out]
    seen, out = copy_masks(labels, len(trials), order, copies)
    settings = MiniBatch(
        config.epochs,
        config.batch,
        Optimiser("adam", config.learning_rate, betas=config.betas),
        mixed_precision=config.mixed_precision,
        compiled=config.compiled,
        measured_every=config.epochs,
    )
    seeds = [context.seed % 2**31 + number for number in range(len(copies))]
    result = train_networks(
        lambda seed: trained_network(config.weights, seed),
        pool,
        labels,
        seen,
        {"train": seen, "out": out},
        settings,
        seeds,
    )
    return [
        {"trial": trials[t], "left_out": label, "method": method, "accuracy": float(share)}
        for method, name in (("trained", "out"), ("trained, on training points", "train"))
        for (t, label), share in zip(copies, result.measured[name][-1], strict=True)
    ]


def trained_network(weights: str, seed: int) -> nn.Sequential:
    """Sec. 3.4's network, 784-512-128-10 with dropout, with PyTorch's weights or as the scripts have it.

    >>> [len(trained_network(weights, 0)) for weights in ("pytorch", "scripts")]
    [8, 8]
    """
    if weights == "pytorch":
        return digit_mlp(seed, torch.float32)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in ((784, 512), (512, 128)):
        layers += [ScaledLinear(inputs, outputs, 1.0, 1.0), nn.ReLU(), nn.Dropout()]
    return scripts_weights(nn.Sequential(*layers, ScaledLinear(128, 10, 1.0, 0.0)), seed)


def copy_masks(
    labels: Int64[Tensor, "p"], trials: int, order: int, copies: list[tuple[int, int]]
) -> tuple[Bool[Tensor, "copies p"], Bool[Tensor, "copies p"]]:
    """What each copy is trained on, and what is left out: the upright points of its class in its trial.

    Args:
        labels: The class of each point, trial after trial, orbits of `order` points.
        trials: Number of trials.
        order: Points of an orbit; the first is upright.
        copies: Trial and left-out class of each copy.

    >>> copy_masks(torch.tensor([3, 3, 5, 5]), 1, 2, [(0, 5)])[0].tolist()
    [[True, True, False, True]]
    """
    trial_of = torch.arange(len(labels), device=labels.device) // (len(labels) // trials)
    upright = torch.arange(len(labels), device=labels.device) % order == 0
    out = torch.stack([(trial_of == t) & upright & (labels == label) for t, label in copies])
    return torch.stack([trial_of == t for t, _ in copies]) & ~out, out
