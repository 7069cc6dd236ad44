"""Errors at poses one class of objects was never seen in: kernels, their group form, trained networks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from symscope.data import rotation
from symscope.groups import cyclic
from symscope.kernels import infinite_width
from symscope.networks.architectures import mlp, seeded_weights
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope.spectral import leave_out, leave_out_residual, precision, projected_profile
from symscope.training import Optimiser
from symscope_papers.spectral.latent.config import Latent
from symscope_papers.spectral.latent.objects import object_images, turns
from symscope_papers.spectral.trained.full_batch import FullBatch, train_copies
from symscope_papers.spectral.wide_networks import conv_kernels

KERNELS = "kernels"
WIDE = {"wide-mlp": "wide MLP", "wide-cnn": "wide ConvNet", "averaged": "wide MLP, averaged over image turns"}
VIEWS = 6  # poses of the first object that a figure shows


def cells(config: Latent) -> list[dict[str, Any]]:
    """One cell for each kind of object, axis and method: all kernels, and each trained network."""
    return [
        {"kind": kind, "tilt": tilt, "method": method}
        for kind in config.kinds
        for tilt in config.tilts
        for method in (KERNELS, *config.networks)
    ]


def measure_cell(config: Latent, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors of every set of objects by one method; of kernels also what they come from."""
    render = partial(_images, config, cell["kind"], cell["tilt"], context.run_seed)
    if cell["method"] != KERNELS:
        return {"errors": trained_rows(config, cell["method"], render, context)}
    errors: list[dict[str, Any]] = []
    kernels: list[dict[str, Any]] = []
    for trial in range(config.trials):
        images = render(max(config.objects), config.poses, trial).to(context.device)
        for by, gram in kernel_matrices(images).items():
            for m in config.objects:
                row: dict[str, Any] = {"varied": "objects", "by": by, "trial": trial}
                row |= kernel_errors(gram[:m, :, :m], config.ridge) | orbit_geometry(images[:m])
                kernels.append(row)
                errors.append({name: row[name] for name in ("by", "trial", "objects", "error", "accuracy")})
        images = render(config.density_objects, max(config.densities), trial).to(context.device)
        for by, gram in kernel_matrices(images, averaged=False).items():
            for poses in config.densities:
                each = images.shape[1] // poses
                row = {"varied": "poses", "by": by, "trial": trial}
                row |= kernel_errors(gram[:, ::each, :, ::each], config.ridge) | orbit_geometry(
                    images[:, ::each]
                )
                kernels.append(row)
    return {"errors": errors, "kernels": kernels, "views": _views(render(1, VIEWS, 0)[0])}


def _images(config: Latent, kind: str, tilt: int, seed: int, count: int, poses: int, trial: int) -> Tensor:
    return object_images(kind, count, turns(poses, tilt), config.side, seed, trial)


def kernel_matrices(
    images: Float[Tensor, "m n side side"], averaged: bool = True
) -> dict[str, Float[Tensor, "m n m n"]]:
    """NTKs of an MLP of one hidden layer and of one convolution, and the first averaged over image turns.

    The averaged kernel, `mean_ab k(R_a x, R_b x')` with R_a the turns of the image by splines, is that of a
    network made invariant under turns of the image.

    Args:
        images: Images of every object at every pose.
        averaged: Whether to give the averaged kernel too.
    """
    m, n, side, _ = images.shape
    layers = nn.Sequential(nn.Linear(side**2, 2), nn.ReLU(), nn.Linear(2, 1))
    dense, conv = infinite_width(layers, w_std=1.0, b_std=1.0).ntk, conv_kernels("fc", 3, side).ntk
    points = images.flatten(0, 1)
    matrices = {"wide-mlp": dense(points.flatten(1)), "wide-cnn": conv(points[:, None])}
    if averaged:
        turned = rotation(n).act_all(points).flatten(2)  # [points, a, pixels]
        flat = turned.flatten(0, 1)
        sums = [dense(one.contiguous(), flat).unflatten(1, (-1, n)).mean(2) for one in turned.unbind(1)]
        matrices["averaged"] = torch.stack(sums).mean(0)
    return {
        by: ((gram + gram.T) / 2).unflatten(1, (m, n)).unflatten(0, (m, n)) for by, gram in matrices.items()
    }


def kernel_errors(gram: Float[Tensor, "m n m n"], ridge: float) -> dict[str, float | int]:
    """Mean error where one class lacks one pose, over poses and classes: dense, and by the group form.

    Objects of even number have the label 1, those of odd number -1. Regression on all images but those of one
    class at one pose predicts these, `y (y - prediction) = y (P_MM)^-1 (P y)_M`. The group form, exact where
    the kernel is invariant under the turns, does the same for the nearest kernel that is.

    Args:
        gram: K over all objects and poses.
        ridge: Ridge, as a share of the mean of the diagonal.

    >>> K = (torch.eye(4, dtype=torch.float64) + 0.5).reshape(2, 2, 2, 2)
    >>> result = kernel_errors(K, ridge=0.0)
    >>> round(result["error"], 9), round(result["group_form"], 9), result["invariance_error"]
    (1.2, 1.2, 0.0)
    """
    m, n = gram.shape[:2]
    group, matrix = cyclic(n), gram.flatten(2).flatten(0, 1)
    absolute = ridge * float(matrix.diagonal().mean())
    labels = object_labels(m).to(matrix)
    inverse, values = precision(matrix, absolute), labels.repeat_interleave(n)
    residuals = torch.stack(
        [
            values[missing] * leave_out_residual(inverse, values, missing)
            for pose in range(n)
            for missing in class_points(m, n, pose).to(matrix.device)
        ]
    )
    projection = projected_profile(matrix, group)
    masks = torch.zeros(2, m * n, dtype=torch.bool)
    masks[torch.arange(2)[:, None], class_points(m, n, group.identity)] = True
    result = leave_out(projection.profile, labels, masks.unflatten(1, (m, n)), group, absolute)
    return {
        "objects": m,
        "poses": n,
        "error": float(residuals.mean()),
        "accuracy": float((residuals < 1).double().mean()),
        "group_form": float((result.label * result.residual).mean()),
        "invariance_error": projection.invariance_error,
    }


def object_labels(count: int) -> Float[Tensor, "m"]:
    """Labels of the objects, 1 and -1 in turn.

    >>> object_labels(4).tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    return 1.0 - 2.0 * (torch.arange(count, dtype=torch.float64) % 2)


def class_points(count: int, poses: int, pose: int) -> Int64[Tensor, "2 half"]:
    """Positions of one pose of all objects of each class.

    >>> class_points(4, 3, 1).tolist()
    [[1, 7], [4, 10]]
    """
    return (torch.arange(count) * poses + pose).reshape(-1, 2).T


def orbit_geometry(images: Float[Tensor, "m n side side"]) -> dict[str, float]:
    """Distances of images at neighbouring poses, and of the orbits' means, in units of an image's norm.

    >>> pair = torch.tensor([[1.0, -1.0], [3.0, -3.0]], dtype=torch.float64).reshape(2, 2, 1, 1)
    >>> orbit_geometry(pair)
    {'step': 4.0, 'separation': 0.0}
    """
    flat = images.flatten(2)
    means = flat.mean(1)
    m, size = len(means), images.shape[-1]
    step = (flat - flat.roll(1, 1)).norm(dim=2).mean() / size
    return {"step": float(step), "separation": float(torch.cdist(means, means).sum()) / (m * (m - 1) * size)}


def trained_rows(
    config: Latent, network: str, render: partial[Tensor], context: CellContext
) -> list[dict[str, Any]]:
    """The same errors, `1 - y f(x)`, of networks trained on all images but those of one class at one pose."""
    rows = []
    how = FullBatch(config.epochs, Optimiser("adam", config.learning_rate), config.tolerance, look_every=10)
    sets = [render(max(config.objects), config.poses, trial) for trial in range(config.trained_trials)]
    for count in config.objects:
        chosen = [
            torch.randperm(config.poses, generator=seeded(context.run_seed, 5, trial))[: config.missing_poses]
            for trial in range(config.trained_trials)
        ]
        absent = torch.stack(
            [class_points(count, config.poses, int(pose)) for own in chosen for pose in own]
        ).flatten(0, 1)  # [copies, half]
        trials = torch.arange(config.trained_trials).repeat_interleave(2 * config.missing_poses)
        x = torch.stack([one[:count].flatten(0, 1) for one in sets])[trials].float().to(context.device)
        y = object_labels(count).repeat_interleave(config.poses).to(x)
        seen = torch.ones(len(x), x.shape[1], dtype=torch.bool)
        seen[torch.arange(len(x))[:, None], absent] = False
        places = torch.stack([row.nonzero()[:, 0] for row in seen]).to(x.device)
        own = torch.arange(len(x), device=x.device)[:, None]
        seeds = torch.randint(2**31, (len(x),), generator=seeded(context.seed, count)).tolist()
        builder = partial(build_network, network, config)
        trained = train_copies(builder, x[own, places][:, :, None], y[places], how, seeds)
        unseen = absent.to(x.device)
        outputs = trained.stack.outputs(x[own, unseen][:, :, None])[..., 0]
        errors = (1 - y[unseen] * outputs).double().cpu()
        for trial in range(config.trained_trials):
            mine = errors[trials == trial]
            rows.append(
                {
                    "by": network,
                    "trial": trial,
                    "objects": count,
                    "error": float(mine.mean()),
                    "accuracy": float((mine < 1).double().mean()),
                }
            )
    return rows


def build_network(network: str, config: Latent, seed: int) -> nn.Module:
    """An MLP of one hidden layer, or a ConvNet of two convolutions, for images `[n, 1, side, side]`.

    >>> sum(weight.numel() for weight in build_network("cnn", Latent(), 0).parameters())
    1953
    """
    if network == "mlp":
        return mlp((config.side**2, config.width, 1), seed=seed, dtype=torch.float32)
    last = -(-config.side // 4)
    with seeded_weights(seed):
        return nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * last**2, 1),
        ).float()


def _views(images: Float[Tensor, "n side side"]) -> list[dict[str, Any]]:
    """Pixels of one object's images, for the figure."""
    return [
        {"pose": pose, "row": row, "column": column, "value": value}
        for pose, image in enumerate(images.tolist())
        for row, line in enumerate(image)
        for column, value in enumerate(line)
    ]
