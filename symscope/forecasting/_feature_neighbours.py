"""Which points of the training data are nearest to others, by the angle of what a pilot's last layer gets.

What a network has made of its inputs tells more of what many more steps will do than the inputs themselves,
and more than what its last layer makes of it so far.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from symscope.forecasting._refitted_output import RefittedOutput
from symscope.numerics import explained, seeded
from symscope.training import module_outputs

COMPARED = 3000  # points of the training data at most
WIDEST = 256  # features: more are projected at random, which keeps angles to a few per cent


@explained
def outputs_and_neighbours(
    fitted: RefittedOutput, points: Float[Tensor, "p *s"]
) -> tuple[Float[Tensor, "p c"], Int64[Tensor, "p"] | None]:
    """Outputs at points, and the class of the nearest point of the training data.

    Args:
        fitted: Network in evaluation mode, and what its last layer got for points of the training data.
        points: Inputs as the network takes them.

    Returns:
        The outputs on the CPU, and the classes; None where the last layer does not see each point once.

    >>> net = nn.Sequential(nn.Linear(2, 2, bias=False))
    >>> seen, classes = torch.eye(2).double(), torch.tensor([5, 7])
    >>> outputs_and_neighbours(RefittedOutput(net, net[0], net, seen, classes), torch.tensor([[9.0, 1]]))[1]
    tensor([5])
    """
    compared = _directions(fitted.features[:COMPARED])
    found: list[Tensor] = []

    def match(_: nn.Module, given: tuple[Tensor, ...], named: dict[str, Tensor], result: Tensor) -> None:
        into = given[0] if given else named.get("input", result)
        features = result if fitted.layer is None else into
        found.append((_directions(features.detach()) @ compared.mT).argmax(1))

    watched = fitted.network if fitted.layer is None else fitted.layer
    hook = watched.register_forward_hook(match, with_kwargs=True)
    try:
        outputs = module_outputs(fitted.module, points)
    finally:
        hook.remove()
    at = torch.cat(found)
    return outputs, fitted.classes.cpu()[at.cpu()] if len(at) == len(points) else None


def _directions(features: Float[Tensor, "p d"]) -> Float[Tensor, "p k"]:
    """Features of length one, in single precision; wide ones projected."""
    features = features.float()
    if features.shape[1] > WIDEST:
        features = features @ _projection(features.shape[1]).to(features.device)
    return nn.functional.normalize(features, dim=1)


@lru_cache(maxsize=1)  # drawing it takes longer than using it for a batch
def _projection(width: int) -> Float[Tensor, "d k"]:
    return torch.randn(width, WIDEST, generator=seeded(0, 86))
