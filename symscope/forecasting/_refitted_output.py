"""The last layer of a pilot fitted to its end: what many more steps would do to it, by convex optimisation.

A short training leaves the last layer furthest behind, as it waits for the layers before it. Those stay as
they are here; the last layer minimises the cross-entropy of points of the training data, as regression with
its share of the tangent kernel of the trained network would, at the price of passing the points through the
network once.
"""

from __future__ import annotations

import time

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor, nn

from symscope.numerics import explained, seeded
from symscope.training import module_outputs

DECAY = 1e-3  # of the squared change of the weights, beside the mean cross-entropy
ITERATIONS = 60  # of L-BFGS (Liu and Nocedal 1989)
MOST_POINTS = 10_000
MOST_NUMBERS = 2**22  # points times width of the layer: about two seconds on one core
TIMED = 5  # iterations whose time is measured
PROBED = 4  # points by which the last layer is found


@explained
def refitted_output(
    module: nn.Module,
    points: Float[Tensor, "p *s"],
    classes: Int64[Tensor, "p"],
    columns: Int64[Tensor, "c"],
) -> nn.Module:
    """A classifier whose last layer minimises the cross-entropy of some points; the other layers stay.

    `mean CE + 0.001 |W - W_0|^2` over the weights W and a bias of the last layer, W_0 those it has. Where
    outputs are not those of one linear layer of its own, a linear map of the outputs is fitted in its place.

    Args:
        module: Network in evaluation mode; its last layer is changed in place.
        points: Inputs as the network takes them; as many of the first as the layer's width allows are used.
        classes: Class of each point, by its place among the columns.
        columns: Outputs that are about classes.

    Returns:
        The network, or the network and a linear map behind it.

    >>> _ = torch.manual_seed(0)
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    >>> x, y = torch.tensor([[1.0, 0, 0, 2], [0, 1, 3, 0]]), torch.tensor([1, 0])
    >>> refitted_output(net, x, y, torch.arange(2))(x).argmax(1).tolist()
    [1, 0]
    """
    columns, classes = columns.to(points.device), classes.to(points.device)
    layer = output_layer(module, points[:PROBED])
    if layer is None:
        width = module_outputs(module, points[:PROBED]).shape[1]
        layer = nn.Linear(width, width).to(points.device, points.dtype)
        with torch.no_grad():
            layer.weight.copy_(torch.eye(width))
            layer.bias.zero_()
        module = nn.Sequential(module, layer).eval()
    most = max(1, MOST_NUMBERS // layer.in_features)
    inputs = _layer_inputs(module, layer, points[:most])
    own = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
    start = [one.detach()[columns].double() for one in own]
    fitted = fitted_layer(inputs, classes[:most], start[0], start[1] if len(start) > 1 else None)
    if all(bool(one.isfinite().all()) for one in fitted):
        with torch.no_grad():
            for one, values in zip(own, fitted, strict=True):
                one[columns] = values.to(one)
    return module


@explained
def fitted_layer(
    inputs: Float64[Tensor, "p d"],
    classes: Int64[Tensor, "p"],
    weight: Float64[Tensor, "c d"],
    bias: Float64[Tensor, "c"] | None = None,
    iterations: int = ITERATIONS,
) -> list[Tensor]:
    """The weights, and the bias of a layer that has one, of least mean cross-entropy and change of weights.

    Args:
        inputs: What the layer gets.
        classes: Class of each point.
        weight: Weights to start from.
        bias: Bias to start from; None for a layer without.
        iterations: Iterations at most.
    """
    start = [weight] if bias is None else [weight, bias]
    ends = [one.clone().requires_grad_(True) for one in start]
    search = torch.optim.LBFGS(ends, max_iter=iterations, line_search_fn="strong_wolfe")

    def total() -> Tensor:
        search.zero_grad()
        loss = nn.functional.cross_entropy(nn.functional.linear(inputs, *ends), classes)
        value = loss + DECAY * (ends[0] - weight).square().sum()
        value.backward()
        return value

    search.step(total)
    return [one.detach() for one in ends]


@explained
def refit_seconds(module: nn.Module, points: Float[Tensor, "p *s"], count: int, classes: int) -> float:
    """The time that fitting the last layer to so many points takes, from a few iterations on random ones.

    Args:
        module: Network in evaluation mode.
        points: A few inputs as the network takes them.
        count: Points that it would be fitted to.
        classes: Number of classes.
    """
    layer = output_layer(module, points[:PROBED])
    width = module_outputs(module, points[:PROBED]).shape[1] if layer is None else layer.in_features
    generator = seeded(0, 84)
    inputs = torch.randn(min(count, max(1, MOST_NUMBERS // width)), width, generator=generator).double()
    labels = torch.randint(0, classes, (len(inputs),), generator=generator)
    inputs, labels = inputs.to(points.device), labels.to(points.device)
    start = time.perf_counter()
    fitted_layer(inputs, labels, inputs.new_zeros(classes, width), iterations=TIMED)
    return (time.perf_counter() - start) * ITERATIONS / TIMED


@explained
def output_layer(module: nn.Module, points: Float[Tensor, "p *s"]) -> nn.Linear | None:
    """The linear layer whose output the network's is, if it is called once and its weights are its own.

    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> output_layer(net.eval(), torch.ones(1, 3)) is net[2]
    True
    >>> output_layer(nn.Sequential(net, nn.Softmax(1)).eval(), torch.ones(1, 3)) is None
    True
    """
    calls: list[tuple[nn.Linear, Tensor]] = []
    linear = [part for part in module.modules() if type(part) is nn.Linear]
    hooks = [one.register_forward_hook(lambda at, _, out: calls.append((at, out))) for one in linear]
    try:
        outputs = module_outputs(module, points)
    finally:
        for hook in hooks:
            hook.remove()
    last = [at for at, out in calls if out.shape == outputs.shape and _same(out, outputs)]
    if not last or sum(at is last[-1] for at, _ in calls) > 1:
        return None
    # a weight that is computed (weight_norm, pruning) is nobody's parameter, a tied one that of several
    owners = [
        part
        for part in module.modules()
        if any(one is last[-1].weight for one in part.parameters(recurse=False))
    ]
    return last[-1] if len(owners) == 1 else None


def _same(out: Tensor, outputs: Tensor) -> bool:
    return bool(torch.equal(out.detach().float().cpu(), outputs))


def _layer_inputs(
    module: nn.Module, layer: nn.Linear, points: Float[Tensor, "p *s"]
) -> Float64[Tensor, "p d"]:
    got: list[Tensor] = []
    hook = layer.register_forward_hook(lambda _, given, __: got.append(given[0].detach().double()))
    try:
        module_outputs(module, points)
    finally:
        hook.remove()
    return torch.cat(got)
