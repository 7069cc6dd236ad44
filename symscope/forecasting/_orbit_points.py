"""Samples under every element, as they are and as a network sees them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data import Action, LabelledData
from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.numerics import out_of_range
from symscope.user_code import user_errors

if TYPE_CHECKING:
    from symscope.forecasting._question import Question


def sample_points(
    question: Question, samples: LabelledData, fresh: bool = False
) -> tuple[Float[Tensor, "m n *s"], Float[Tensor, "m n *s"]]:
    """The orbits of samples as they are, and as the network sees them.

    Args:
        question: Action, and the element in which the data holds each sample.
        samples: Samples of the question's data.
        fresh: Whether they are new ones instead, which are upright.
    """
    moved = action_orbit(question.action, samples.x)
    if question.elements is not None and samples.indices is not None and not fresh:
        moved = orbit_from_upright(moved, question.elements[samples.indices.cpu()], question.group)
    images = _in_range(moved, question.standardised, question.data.name)
    shown = samples.indices
    if not fresh and shown is not None and question.sources is not None:
        shown = question.sources[shown]
    return images, standardise_points(
        images, question.standardised, question.data.name, shown, question.coordinates
    )


def orbit_from_upright(
    moved: Float[Tensor, "m n *s"], elements: Int64[Tensor, "m"], group: FiniteGroup
) -> Float[Tensor, "m n *s"]:
    """Orbits of what the data holds in these elements, counted from the upright: `g h^-1` on h x."""
    back = [[group.multiply(g, group.inverse(h)) for g in group.elements] for h in elements.tolist()]
    return moved[torch.arange(len(moved))[:, None], torch.tensor(back)]


def _in_range(images: Float[Tensor, "m n *s"], standardised: bool, name: str) -> Float[Tensor, "m n *s"]:
    """Orbits whose squares, and those of kernels, stay within the range of their type.

    A sample that will be standardised is divided by its largest number, which changes no point.

    Raises:
        InputError: Numbers too large or too small that are to stay as they are.
    """
    largest = images.flatten(1).abs().amax(1)
    extreme, allowed = out_of_range(largest)
    if not bool(extreme.any()):
        return images
    if not standardised:
        raise InputError(
            f"{name}: expected samples whose largest number is {allowed}, so that their squares are numbers "
            f"too, got {float(largest[extreme][0]):.0e}; multiply the data by a constant."
        )
    return images / torch.where(extreme, largest, 1).reshape(-1, *[1] * (images.ndim - 1))


def action_orbit(action: Action, x: Float[Tensor, "m *s"]) -> Float[Tensor, "m n *s"]:
    """Every element on every sample, channels moved together.

    Raises:
        InputError: The action's own function fails, or changes the shape.
    """
    with user_errors(f"action {action.name}: its function"):
        moved = action.orbit(x)
    if moved.shape != (len(x), action.group.order, *x.shape[1:]):
        raise InputError(
            f"action {action.name}: expected samples to keep their shape {tuple(x.shape[1:])}, got "
            f"{tuple(moved.shape[2:])}; crop or pad inside the action."
        )
    if not bool(moved.isfinite().all()):
        raise InputError(f"action {action.name}: it made values that are not finite.")
    return moved


def standardise_points(
    images: Float[Tensor, "m n *s"],
    standardised: bool,
    name: str,
    indices: Int64[Tensor, "m"] | None = None,
    coordinates: int | None = None,
) -> Float[Tensor, "m n *s"]:
    """Each point centred and scaled to a mean square of 1, if wanted, in a way the group commutes with.

    Args:
        images: Orbits of some samples.
        standardised: Whether to do so.
        name: Name of the data in messages.
        indices: Position of each sample in the data; None where only its place in the resample is known.
        coordinates: Columns that are coordinates, where samples are clouds: only these are changed, and a
            cloud is centred by the mean of its points.

    Raises:
        InputError: A point that is constant.

    >>> standardise_points(torch.tensor([[[1.0, 3.0]]]), True, "two").tolist()
    [[[-1.0, 1.0]]]
    """
    if not standardised:
        return images
    if coordinates is not None and coordinates < images.shape[-1]:
        places = standardise_points(images[..., :coordinates], True, name, indices, coordinates)
        return torch.cat([places, images[..., coordinates:]], dim=-1)
    flat = images.flatten(2)
    if coordinates is None:
        centred = flat - flat.mean(2, keepdim=True)
    else:
        centred = (images - images.mean(-2, keepdim=True)).flatten(2)
    size = centred.norm(dim=2, keepdim=True) / math.sqrt(flat.shape[2])
    constant = (size <= 1e-12 * flat.abs().amax(2, keepdim=True)).flatten(1).any(1)
    if bool(constant.any()):
        at = int(constant.nonzero()[0])
        which = f"{at} of those drawn" if indices is None else str(int(indices[at]))
        raise InputError(f"{name}: sample {which} is constant, as it is or transformed; leave it out.")
    return (centred / size).reshape(images.shape)
