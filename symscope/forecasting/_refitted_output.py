"""The last layer of a pilot fitted to its end: what many more steps would do to it, by convex optimisation.

A short training leaves the last layer furthest behind, as it waits for the layers before it. Those stay as
they are here; the last layer minimises the cross-entropy of points of the training data, as regression with
its share of the tangent kernel of the trained network would, at the price of passing the points through the
network once. It is kept where it does better, on points of the training data that it was not fitted to if
there are any.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor, nn

from symscope.numerics import explained, seeded
from symscope.training import module_outputs

DECAY = 1e-3  # of the squared change of the weights, beside the mean cross-entropy
ITERATIONS = 60  # of L-BFGS (Liu and Nocedal 1989)
TIMED = 5  # iterations whose time is measured
MOST_POINTS = 10_000
MOST_NUMBERS = 2**22  # points times width of the layer, for ten classes: about a second on one core
LARGEST = 2**24  # weights of a layer that is fitted
CHECKED = 5  # one point of so many is kept apart to check the fit
PROBED = 4  # points by which the last layer is found


@final
@dataclass(frozen=True, eq=False)
class RefittedOutput:
    """A classifier whose last layer was fitted, and what that layer got for the points.

    Attributes:
        module: The network, or the network and a linear map behind it.
        layer: Layer that was fitted; None where it is a map of the outputs.
        network: The network without a map.
        features: What the layer got, or the outputs that are mapped, for each point.
        classes: Class of each point.
    """

    module: nn.Module
    layer: nn.Linear | None
    network: nn.Module
    features: Float64[Tensor, "p d"]
    classes: Int64[Tensor, "p"]

    def __repr__(self) -> str:
        return f"RefittedOutput({tuple(self.features.shape)} features)"


@explained
def refitted_output(
    module: nn.Module,
    points: Float[Tensor, "p *s"],
    classes: Int64[Tensor, "p"],
    columns: Int64[Tensor, "c"],
    kept_apart: bool = True,
) -> RefittedOutput:
    """A classifier whose last layer minimises the cross-entropy of some points; the other layers stay.

    `mean CE + 0.001 |W - W_0|^2` over the weights W and the bias of the last layer, W_0 those it has. Where
    outputs are not those of one linear layer of its own, a linear map of the outputs is fitted instead; a
    layer that is not trained, or too large, stays.

    Args:
        module: Network in evaluation mode; its last layer is changed in place.
        points: Inputs as the network takes them.
        classes: Class of each point, by its place among the columns.
        columns: Outputs that are about classes.
        kept_apart: Whether a fifth of the points checks the fit instead of taking part in it.

    >>> _ = torch.manual_seed(0)
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    >>> x, y = torch.tensor([[1.0, 0, 0, 2], [0, 1, 3, 0]]), torch.tensor([1, 0])
    >>> refitted_output(net, x, y, torch.arange(2), kept_apart=False).module(x).argmax(1).tolist()
    [1, 0]
    """
    columns, classes = columns.to(points.device), classes.to(points.device)
    layer = output_layer(module, points[:PROBED])
    inputs, outputs = _layer_pass(module, layer, points)
    if inputs is None:
        layer, inputs = None, outputs.to(points.device).double()
    unchanged = RefittedOutput(module, layer, module, inputs, classes)
    if len(columns) * inputs.shape[1] > LARGEST or (layer is not None and not layer.weight.requires_grad):
        return unchanged
    head = OutputMap(module, inputs.shape[1], columns).to(points.device) if layer is None else layer
    rows = torch.arange(len(columns), device=points.device) if layer is None else columns
    own = [head.weight] if head.bias is None else [head.weight, head.bias]
    before = [one.detach().clone() for one in own]
    start = [one[rows].double() for one in before]
    used = len(points) - (len(points) // CHECKED if kept_apart else 0)
    bias = start[1] if len(start) > 1 else None
    fitted = fitted_layer(inputs[:used], classes[:used], start[0], bias)
    with torch.no_grad():
        for one, values in zip(own, fitted, strict=True):
            one[rows] = values.to(one)
    result = module if layer is not None else head
    judged = slice(used, None) if used < len(points) else slice(0, max(1, used // CHECKED))
    with torch.no_grad():
        now = nn.functional.linear(inputs[judged].to(head.weight), head.weight, head.bias)[:, rows]
    losses = [
        float(nn.functional.cross_entropy(one.cpu().float(), classes[judged].cpu()))
        for one in (outputs[judged][:, columns.cpu()], now)
    ]
    if losses[1] < losses[0]:
        return RefittedOutput(result, layer, module, inputs, classes)
    with torch.no_grad():
        for one, values in zip(own, before, strict=True):
            one.copy_(values)
    return unchanged


@final
class OutputMap(nn.Module):
    """A network and a linear map of its outputs in the place of those about classes; at first they are kept.

    Args:
        module: Network.
        width: Number of its outputs.
        columns: Outputs that are about classes.
    """

    def __init__(self, module: nn.Module, width: int, columns: Int64[Tensor, "c"]) -> None:
        super().__init__()
        self.module = module
        self.weight = nn.Parameter(torch.zeros(len(columns), width))
        self.bias = nn.Parameter(torch.zeros(len(columns)))
        self.weight.data[torch.arange(len(columns)), columns.cpu()] = 1.0
        self.register_buffer("columns", columns)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """Outputs, those about classes mapped."""
        outputs = self.module(x)
        mapped = nn.functional.linear(outputs.float(), self.weight, self.bias)
        return outputs.float().index_copy(1, self.columns, mapped)


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
    count, wide = len(inputs), weight.shape[1]
    at = torch.arange(count, device=inputs.device)
    start = weight if bias is None else torch.cat([weight, bias[:, None]], 1)

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        now = torch.from_numpy(flat).to(inputs).reshape(start.shape)
        logits = nn.functional.linear(inputs, now[:, :wide], None if bias is None else now[:, wide])
        shares = logits.log_softmax(1)
        change = now[:, :wide] - weight
        value = -shares[at, classes].mean() + DECAY * change.square().sum()
        error = shares.exp()
        error[at, classes] -= 1  # the gradient of the cross-entropy over logits
        slope = torch.empty_like(now)
        slope[:, :wide] = error.mT @ inputs / count + 2 * DECAY * change
        if bias is not None:
            slope[:, wide] = error.mean(0)
        return float(value), slope.flatten().cpu().numpy()

    found = minimize(
        loss,
        start.flatten().cpu().numpy(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "gtol": 1e-9, "ftol": 1e-12},
    )
    fitted = torch.from_numpy(found.x).to(inputs).reshape(start.shape)
    return [fitted] if bias is None else [fitted[:, :wide], fitted[:, wide]]


@explained
def refit_points(module: nn.Module, points: Float[Tensor, "p *s"], seen: int, classes: int) -> int:
    """To how many of the points seen a last layer is fitted, at most.

    Args:
        module: Network in evaluation mode.
        points: A few inputs as the network takes them.
        seen: Points of the training data.
        classes: Number of classes.
    """
    numbers = untrained_features(module, points, 1).features.shape[1] * max(1.0, classes / 10)
    return min(seen, MOST_POINTS, max(1, int(MOST_NUMBERS / numbers)))


@explained
def refit_seconds(module: nn.Module, points: Float[Tensor, "p *s"], count: int, classes: int) -> float:
    """The time that fitting a last layer to so many points takes, from a few iterations on random ones.

    Args:
        module: Network in evaluation mode.
        points: A few inputs as the network takes them.
        count: Points that it would be fitted to.
        classes: Number of classes.
    """
    inputs = untrained_features(module, points, count).features
    labels = torch.randint(0, classes, (count,), generator=seeded(0, 85)).to(points.device)
    weight = inputs.new_zeros(classes, inputs.shape[1])
    fitted_layer(inputs[:PROBED], labels[:PROBED], weight, iterations=1)  # the first call loads what it needs
    start = time.perf_counter()
    fitted_layer(inputs, labels, weight, iterations=TIMED)
    return (time.perf_counter() - start) * ITERATIONS / TIMED


@explained
def untrained_features(module: nn.Module, points: Float[Tensor, "p *s"], count: int) -> RefittedOutput:
    """Random numbers in the place of what the last layer gets, to measure how long they take.

    Args:
        module: Network in evaluation mode.
        points: A few inputs as the network takes them.
        count: Points in whose place they stand.
    """
    layer = output_layer(module, points[:PROBED])
    width = module_outputs(module, points[:PROBED]).shape[1] if layer is None else layer.in_features
    features = torch.randn(count, width, generator=seeded(0, 84)).double().to(points.device)
    return RefittedOutput(module, layer, module, features, torch.zeros(count, dtype=torch.int64))


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
    # copies: what follows may change an output in place
    hooks = [one.register_forward_hook(lambda at, _, out: calls.append((at, _copied(out)))) for one in linear]
    try:
        outputs = module_outputs(module, points)
    finally:
        for hook in hooks:
            hook.remove()
    last = [at for at, out in calls if torch.equal(out.float().cpu(), outputs)]
    if not last or sum(at is last[-1] for at, _ in calls) > 1:
        return None
    # what is computed (weight_norm, pruning) is nobody's parameter, what is tied that of several
    for own in (last[-1].weight, last[-1].bias):
        parts = [
            part for part in module.modules() if any(one is own for one in part.parameters(recurse=False))
        ]
        if own is not None and len(parts) != 1:
            return None
    return last[-1]


def _copied(out: Tensor) -> Tensor:
    return out.detach().clone()


def _layer_pass(
    module: nn.Module, layer: nn.Linear | None, points: Float[Tensor, "p *s"]
) -> tuple[Float64[Tensor, "p d"] | None, Float[Tensor, "p c"]]:
    """What a layer gets for each point, None where its outputs are not the network's; and the outputs."""
    if layer is None:
        return None, module_outputs(module, points)
    got: list[Tensor] = []
    out: list[Tensor] = []

    def keep(_: nn.Module, given: tuple[Tensor, ...], named: dict[str, Tensor], result: Tensor) -> None:
        got.append((given[0] if given else named["input"]).detach().double())
        out.append(_copied(result).float().cpu())

    hook = layer.register_forward_hook(keep, with_kwargs=True)
    try:
        outputs = module_outputs(module, points)
    finally:
        hook.remove()
    same = bool(out) and torch.equal(torch.cat(out), outputs)
    return (torch.cat(got) if same else None), outputs
