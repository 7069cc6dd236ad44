"""Gradients of a network in a few thousand random numbers, whose inner products are nearly its NTK.

A count sketch (Charikar, Chen and Farach-Colton, 2002; as a random projection, Weinberger et al., 2009):
every weight's gradient gets a random sign and is added to one of the numbers. Pairs of weights share a number
with probability 1 / count, so that inner products are right on average and off by about
`|g| |g'| / count^1/2`. Here weights are cut into rows as long as the sketch, and each row is turned by a
random number of places: adding them up reads and writes memory in order, many times faster than scattering.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks import Jacobian, SavedWeights, forward_profile, functional_module
from symscope.numerics import DEFAULT_MEMORY, Progress, byte_count, check_count, checked, seeded

COPIES = 4  # of the gradients of some inputs, that automatic differentiation holds


@checked
def projected_gradients(
    module: nn.Module,
    x: Shaped[Tensor, "p *s"],
    *,
    seed: int,
    count: int = 4096,
    combinations: int = 4,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Float[Tensor, "p count"]:
    """Features whose inner products are `empirical_ntk(module)` on average over seeds.

    `<f(x), f(y)> = 1/o sum_a <grad f_a(x), grad f_a(y)>`, within about `count^-1/2` of `k(x, x)`

    `spectral.coverage_regression(None, features, ...)` takes them as they are. Instead of every output,
    random sums of outputs are differentiated, each in its own part of the features.

    Args:
        module: Any module from [p, *shape] to [p, o] that treats inputs separately and deterministically in
            eval mode.
        x: Inputs, on the module's device.
        seed: Random seed of signs and places.
        count: Number of features.
        combinations: Sums of outputs with random signs that are differentiated; where there are not more
            outputs than that, each output itself.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Bytes, or text such as "1GB", to work in; inputs go through in chunks that fit.
        progress: Called as `progress("gradients", inputs done, inputs in all)`.

    Returns:
        The features, in the dtype of the inputs.

    Raises:
        InputError: If module or inputs cannot be used, fewer features than combinations, or the memory is
            too small for one input.

    >>> net, x = nn.Linear(3, 1), torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], dtype=torch.float64)
    >>> features = projected_gradients(net, x, seed=0)
    >>> (features @ features.T).tolist()  # <x, y> + 1: four weights do not meet among 4096 numbers
    [[15.0, 0.0], [0.0, 3.0]]
    """
    network = functional_module(module, params)
    network.check_inputs(x)
    outputs = forward_profile(network, x).outputs
    check_count("count", count, 1)
    cotangents = _combinations(outputs, check_count("combinations", combinations, 1), seed)
    if count < len(cotangents):
        raise InputError(f"count: expected at least one feature for each of {len(cotangents)} combinations")
    cotangents = cotangents.to(x.device, network.dtype_for(x))
    ends = [count * k // len(cotangents) for k in range(len(cotangents) + 1)]
    sizes = [end - start for start, end in pairwise(ends)]
    each = COPIES * network.n_weights() * len(cotangents) * cotangents.element_size()
    if each > byte_count(memory):
        raise InputError(f"memory: the gradients of one input take {each} bytes; allow more")
    result = torch.zeros(len(x), count, dtype=cotangents.dtype, device=x.device)
    at_once = byte_count(memory) // each
    for start in range(0, len(x), at_once):
        some = slice(start, start + at_once)
        rows = Jacobian(network, x[some]).rows(cotangents)
        for number, gradient in enumerate(rows.values()):
            for k, part in enumerate(result[some].split(sizes, 1)):
                _add_sketch(part, gradient[:, k].detach().flatten(1), seeded(seed, 1, k, number))
        if progress is not None:
            progress("gradients", min(start + at_once, len(x)), len(x))
    return result


def _combinations(outputs: int, most: int, seed: int) -> Float[Tensor, "b o"]:
    """Sums of outputs whose gradients' inner products add up to the mean over outputs, on average."""
    if outputs <= most:
        return torch.eye(outputs) / outputs**0.5
    signs = torch.randint(0, 2, (most, outputs), generator=seeded(seed, 0)) * 2.0 - 1
    return signs / (most * outputs) ** 0.5


def _add_sketch(
    sketch: Float[Tensor, "p q"], gradient: Float[Tensor, "p w"], generator: torch.Generator
) -> None:
    """Add the sketch of one parameter's gradients, in place.

    Args:
        sketch: Where it is added.
        gradient: One row per input.
        generator: Source of the signs, and of how far each row of weights is turned.
    """
    width, weights = sketch.shape[1], gradient.shape[1]
    signs = torch.randint(0, 2, (weights,), generator=generator, dtype=torch.int8) * 2 - 1
    signed = gradient * signs.to(gradient)
    turns = torch.randint(0, width, (-(-weights // width),), generator=generator).tolist()
    for row, turn in zip(signed.split(width, 1), turns, strict=True):
        first = min(row.shape[1], width - turn)
        sketch[:, turn : turn + first] += row[:, :first]
        sketch[:, : row.shape[1] - first] += row[:, first:]
