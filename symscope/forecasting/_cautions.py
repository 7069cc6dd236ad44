"""What makes a forecast less sure: a kernel far from the group, points that coincide, image size, stride."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import default_tolerance, fixing_elements
from symscope.forecasting._augmented import exact_elements
from symscope.forecasting._question import Draw, Problem
from symscope.groups import FiniteGroup
from symscope.networks import UserModel, arrange_inputs

FAR = 0.05  # relative norm: a kernel so far from the group is worth a word
CORNER = 0.01  # share of an image's energy outside the inscribed circle that is worth a word


def symmetry_cautions(departure: float, draw: Draw, group: FiniteGroup) -> tuple[str, ...]:
    """Warnings where the group form does not hold well: a kernel far from the group, points that coincide.

    Args:
        departure: `|K - projected K| / |K|`.
        draw: Items and their orbits.
        group: What acts.

    >>> from symscope.data import mnist_sample
    >>> from symscope.forecasting._question import as_problem, drawn
    >>> problem = as_problem(mnist_sample(), "C4")
    >>> symmetry_cautions(0.2, drawn(problem, 1, 0), problem.group)[0][:40]
    'The kernel departs from C4 by 20% (relat'
    """
    found = []
    if departure > FAR:
        found.append(
            f"The kernel departs from {group.name} by {departure:.0%} (relative norm): the network, or the "
            "action, does not respect the group well. The forecast uses the nearest kernel that does and may "
            "be off; the accuracy of each transformation, left out in turn, does not assume it."
        )
    flat = draw.images.flatten(2)
    kept, closed = fixing_elements(flat, flat[:, group.identity], group, default_tolerance(flat.dtype))
    if not bool(closed.all()):
        at = int((~closed).nonzero()[0])
        names = ", ".join(group.labels[g] for g in kept[at].tolist()[:6])
        found.append(
            f"{int((~closed).sum())} of {len(closed)} items are the same under elements of {group.name} that "
            f"are no subgroup ({names}): the action is only nearly one, and what is left out under one of "
            "them is seen under another; use fewer transformations."
        )
    return tuple(found)


def cautions(
    module: nn.Module, model: UserModel, problem: Problem, images: Float[Tensor, "m *s"]
) -> tuple[str, ...]:
    """Warnings for image size, padding and stride, each with the layer and the numbers.

    Args:
        module: The network.
        model: How it takes inputs.
        problem: What acts on which images.
        images: Some items.

    >>> from symscope.data import mnist_sample
    >>> from symscope.networks import user_model
    >>> from symscope.forecasting._question import as_problem
    >>> net = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Flatten(), nn.Linear(338, 10))
    >>> problem = as_problem(mnist_sample(), "C4")
    >>> cautions(net, user_model(net, (28, 28), 10), problem, problem.data.x[:3])[0][:41]
    "Layer '0' (Conv2d): windows of 3 in steps"
    """
    if problem.action.sample_ndim != 2 or problem.action.name == "nodes" or len(problem.shape) < 2:
        return ()
    name = problem.action.name.partition(":")[0]
    turning = name in ("rotation", "dihedral") or name.startswith("flip")
    found: list[str] = []
    strides = 1
    for label, part, size in _windows(module, model, images):
        kernel, stride, padding, dilation = (
            _first(part, key) for key in ("kernel_size", "stride", "padding", "dilation")
        )
        left = (size + 2 * padding - dilation * (kernel - 1) - 1) % stride
        if turning and left:
            found.append(
                f"Layer {label!r} ({type(part).__name__}): windows of {kernel} in steps of {stride} on "
                f"{size} pixels leave {left} over on one side, so that turned or mirrored images are cut "
                f"differently; use a size, padding or stride that fits."
            )
        if name.startswith("shift"):
            found += _shift_cautions(label, part, problem, stride, strides, padding)
        strides *= stride
    if name in ("rotation", "dihedral") and len(exact_elements(problem, images[:2])) < problem.group.order:
        found += _corner_caution(images)
    return tuple(found)


def _shift_cautions(
    label: str, part: nn.Module, problem: Problem, stride: int, strides: int, padding: int
) -> list[str]:
    found = []
    factors = problem.group.cyclic_factors or (1,)
    step = problem.shape[-1] // factors[-1]
    if stride > 1 and step % (strides * stride):
        found.append(
            f"Layer {label!r} ({type(part).__name__}): by here one position is {strides * stride} pixels; "
            f"shifts of {step} pixels are no whole number of positions."
        )
    if padding and getattr(part, "padding_mode", "zeros") != "circular":
        found.append(
            f"Layer {label!r} ({type(part).__name__}): zero padding of {padding} shows the network where the "
            "edge is, so that shifted images look different there; use padding_mode='circular'."
        )
    return found


def _corner_caution(images: Float[Tensor, "m *s"]) -> list[str]:
    height, width = images.shape[-2:]
    rows = torch.arange(height) - (height - 1) / 2
    columns = torch.arange(width) - (width - 1) / 2
    outside = (rows[:, None] ** 2 + columns[None] ** 2) > (min(height, width) / 2) ** 2
    share = float(images[..., outside].square().sum() / images.square().sum().clamp_min(1e-300))
    if share < CORNER:
        return []
    side = math.ceil(max(height, width) * math.sqrt(2))
    return [
        f"{share:.0%} of the images' energy lies outside the inscribed circle and is cut off when they are "
        f"turned; pad them to {side} x {side} pixels first."
    ]


def _windows(module: nn.Module, model: UserModel, images: Tensor) -> list[tuple[str, nn.Module, int]]:
    """The layers that slide windows over images, and the width they do it on, in the order they run."""
    found: list[tuple[str, nn.Module, int]] = []
    hooks = []
    for label, part in module.named_modules():
        if isinstance(part, (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d)):

            def hook(own: nn.Module, given: Any, label: str = label) -> None:
                found.append((label, own, given[0].shape[-1]))

            hooks.append(part.register_forward_pre_hook(hook))
    try:
        with torch.no_grad():
            weights = next(module.parameters())
            module(arrange_inputs(images[:1].to(weights), model.layout))
    finally:
        for one in hooks:
            one.remove()
    return found


def _first(part: nn.Module, key: str) -> int:
    value = getattr(part, key, 1)
    if value == "same":
        return (_first(part, "kernel_size") - 1) // 2
    if value == "valid":
        return 0
    value = value[-1] if isinstance(value, (tuple, list)) else value
    return int(value) if value is not None else _first(part, "kernel_size")
