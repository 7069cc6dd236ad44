"""Which remedies make sense for a network and its data, and why others do not, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.forecasting._cautions import COMPARED, COMPARED_PER_SECOND, label_cautions
from symscope.forecasting._designs import Design
from symscope.forecasting._equivariance import is_symmetric
from symscope.forecasting._question import Question
from symscope.forecasting._sample_split import ForecastSamples
from symscope.networks import UserModel

UNEVEN = 1.5  # times as many points of one class as of another, from which on that is said


@final
@dataclass(frozen=True)
class SuitedRemedies:
    """What the price list may hold.

    Attributes:
        augment: Whether training on more elements is tried.
        invariance: Whether averaging, building the symmetry in and the like are in the list.
        notes: Why not, and what else is to be known of labels, in words.
    """

    augment: bool = True
    invariance: bool = True
    notes: tuple[str, ...] = ()


def suited_remedies(
    module: nn.Module,
    network: UserModel,
    question: Question,
    samples: ForecastSamples,
    images: Float[Tensor, "m *s"],
    design: Design,
    seconds: float = math.inf,
) -> SuitedRemedies:
    """Leave out what changes nothing, what cannot work, and what labels do not survive.

    Args:
        module: The network.
        network: Its name and the layout of its inputs.
        question: Actions on samples and targets.
        samples: Known samples under every element.
        images: Some samples.
        design: What a training sees.
        seconds: Budget, of which a few per cent may go into whether labels survive.
    """
    group = question.group.name
    if is_symmetric(module, network, question, images, question.target_action):
        left_out = f"{network.name} is {question.symmetric} under {group} already: "
        points = torch.bincount(samples.known.positions, weights=design.seen.sum(1).double())
        ratio = float(points.max() / points.min())
        if ratio < UNEVEN:
            nothing = "augmenting, averaging and building the symmetry in change nothing and are left out"
            return SuitedRemedies(False, False, (f"{left_out}{nothing} of the price list.",))
        uneven = (
            "averaging and building the symmetry in change nothing and are left out of the price list. One "
            f"{question.task.words.one} has up to {ratio:.0f} times as many points as another, and a network "
            "that is not trained for long favours it; augmenting evens them out."
        )
        return SuitedRemedies(True, False, (left_out + uneven,))
    most = int(min(COMPARED, COMPARED_PER_SECOND * seconds))
    whole, part = label_cautions(samples, question, most)
    if whole:
        return SuitedRemedies(False, False, (*whole, *part))
    if question.target_action is not None and is_symmetric(module, network, question, images):
        why = (
            f"{network.name} gives the same for every transformed sample: averages of it, moved back, vanish."
        )
        return SuitedRemedies(True, False, (*part, f"{why} They are left out of the price list."))
    return SuitedRemedies(notes=part)
