"""What the authors' scripts do differently from the paper's text, as far as the experiments share it."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.dynamics.layer_steps import LayerStep, summands
from symscope.groups import Representation
from symscope.networks.losses import soft_cross_entropy_loss

SHARED = (
    "Layers are normalised over their channels, sample by sample (LayerNorm without learnt factors), where "
    "the text has batch normalisation; the scripts of March 2023 had that.",
    "EQUIVARIANT projects the last layer that the group acts on instead of its gradient, before the step: "
    "after it the layer is off E.",
    "Layers start at smaller scales, as the scripts set them layer by layer.",
    "What is plotted as the norm of the part outside E adds squares of squared norms, and the horizontal "
    "axis of NOMINAL is that of AUGMENTED; the head is left out of it.",
)


def channel_normalisation(epsilon: float = 1e-5) -> LayerStep:
    """Mean 0 and variance 1 over the channels, at each coordinate of each sample.

    >>> from symscope.groups import cyclic, permutation
    >>> x = torch.tensor([[1.0, 5.0, 3.0, 5.0]], dtype=torch.float64)
    >>> channel_normalisation(0.0).function(x, 2 * permutation(cyclic(2))).nan_to_num().tolist()
    [[-1.0, 0.0, 1.0, 0.0]]
    """

    def normalise(x: Tensor, space: Representation) -> Tensor:
        [(copies, rep)] = summands(space)
        parts = x.unflatten(-1, (copies, rep.dim))
        parts = parts - parts.mean(dim=-2, keepdim=True)
        scale = (parts.square().mean(dim=-2, keepdim=True) + epsilon).rsqrt()
        return (parts * scale).flatten(-2)

    return LayerStep("channel_normalisation", normalise)


def cross_entropy_of_probabilities(prediction: Tensor, y: Tensor) -> Tensor:
    """The cross-entropy of a softmax of a softmax: `torch.nn.CrossEntropyLoss` of probabilities."""
    return soft_cross_entropy_loss(torch.softmax(prediction, -1), y)
