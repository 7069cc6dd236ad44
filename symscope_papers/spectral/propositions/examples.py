"""The images App. C takes in its proofs that a kernel matrix need not be singular."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data import Action, rotation
from symscope.data.images import shift
from symscope_papers.spectral.wide_networks import SIDE


def proof_images(readout: str, orbit: str) -> dict[str, Float[Tensor, "28 28"]]:
    """The images App. C names in its proofs that a matrix need not be singular, and one of ours.

    >>> {name: int((image > 0).sum()) for name, image in proof_images("gap", "rotation").items()}
    {'two pixels': 2, 'two equal pixels': 2}
    """
    pixel = torch.zeros(SIDE, SIDE, dtype=torch.float64)
    pixel[5, 9] = 1.0
    if readout == "fc":
        return {"one pixel": pixel}
    if orbit == "translation":
        return {}
    beside = torch.zeros_like(pixel)
    beside[5, 10] = 1.0
    return {"two pixels": pixel + beside / 2, "two equal pixels": pixel + beside}


def proof_action(orbit: str, side: int) -> Action:
    """Quarter turns, or the finest shifts by more than the filter's side."""
    if orbit == "rotation":
        return rotation(4)
    return shift(max(n for n in range(1, SIDE + 1) if SIDE % n == 0 and SIDE // n > side))
