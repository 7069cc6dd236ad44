"""One example of the paper as numbers that theory says are zero, and controls that are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from symscope.discovery import gaussian_data, parameter_problem, verify
from symscope.discovery.exact import fibre_dimension, linear_symmetries
from symscope.discovery.fields import FunctionField
from symscope.runs import CellContext, CellResults
from symscope_papers.discovery.examples.config import Examples
from symscope_papers.discovery.learned.networks import small_problem


def cells(config: Examples) -> list[dict[str, Any]]:
    """One cell for each example and seed."""
    return [{"example": name, "number": seed} for name in EXAMPLES for seed in config.seeds]


def measure_cell(config: Examples, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell: what was measured, and a case where there are several."""
    rows = EXAMPLES[cell["example"]](config, context.seed % 10**6)
    return {"examples": [{"what": what, "case": case, "value": float(value)} for what, case, value in rows]}


Rows = list[tuple[str, str, Any]]


def _normal(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    randomness = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=randomness, dtype=torch.float64) for shape in shapes]


def _change(before: Tensor, after: Tensor) -> Tensor:
    """Largest change over the largest value."""
    return (after - before).abs().max() / before.abs().max()


def homogeneous_activations(degree: float) -> dict[str, Callable[[Tensor], Tensor]]:
    """Activations with `f(a x) = a^c f(x)` for positive a, one of them zero on negative inputs."""
    return {
        "ReLU": lambda x: torch.relu(x).clamp_min(0) ** degree * (x > 0),
        "absolute value": lambda x: x.abs() ** degree,
    }


def _homogeneous(config: Examples, seed: int) -> Rows:
    """Sec. 3.3.2 and Prop. A.1: rescaling diag(a, a^-c), the derivative, and both for a < 0 or as written."""
    w1, w2, x, a = _normal(seed, (64,), (64,), (64,), (64,))
    rows: Rows = []
    for degree in config.degrees:
        for name, f in homogeneous_activations(degree).items():
            case = f"{name}, c = {degree:g}"
            loss = w2 * f(w1 * x)
            scale = a.abs() + 0.1
            rows.append(("rescaled", case, _change(loss, w2 * scale**-degree * f(scale * w1 * x))))
            if degree == int(degree):  # (-1)^-c is real
                flipped = (-1.0) ** -int(degree) * w2 * f(-w1 * x)
                rows.append(("negative", case, _change(loss, flipped)))
            away = x[x > 0.05] if name == "ReLU" else x[x.abs() > 0.05]
            away = away.detach().requires_grad_()
            (slope,) = torch.autograd.grad(f(away).sum(), away)
            rows.append(("derivative", case, _change(slope, degree * f(away).detach() / away.detach())))
            rows.append(("as written", case, (f(scale * x) - scale**degree * x).abs().max()))
    return rows


def _first_order(config: Examples, seed: int) -> Rows:
    """Theorem 3.1 on three actions, one of which depends on the data; Eq. 4 for any matrix h."""
    W1, W2, x, y, h, u, v = _normal(seed, (3, 2), (1, 3), (2, 1), (1, 1), (9, 9), (3,), (2,))
    shapes = ((3, 2), (1, 3))
    theta = torch.cat([W1.flatten(), W2.flatten()])

    def loss(flat: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        first, second = flat[:6].reshape(shapes[0]), flat[6:].reshape(shapes[1])
        return (second @ function(first @ x) - y).square().sum()

    rates = torch.tensor([0.5, -1.0, 0.3], dtype=torch.float64)
    turn = h[:3, :3] - h[:3, :3].T
    across = torch.outer(u, v - x[:, 0] * (v @ x[:, 0]) / x.square().sum())

    def rescaling(t: Tensor) -> Tensor:
        grow = torch.exp(t * rates)
        return torch.cat([(grow[:, None] * W1).flatten(), (W2 / grow).flatten()])

    def rotation(t: Tensor) -> Tensor:
        turned = torch.linalg.matrix_exp(t * turn)
        return torch.cat([(turned @ W1).flatten(), (W2 @ turned.T).flatten()])

    def shift(t: Tensor) -> Tensor:
        return torch.cat([(W1 + t * across).flatten(), W2.flatten()])

    zero = torch.zeros((), dtype=torch.float64)
    rows: Rows = []
    for name, action, function in (
        ("rescaling of ReLU units", rescaling, torch.relu),
        ("rotation of a radial layer", rotation, radial),
        ("shift across the data point, tanh", shift, torch.tanh),
    ):
        gradient = torch.func.grad(lambda flat, f=function: loss(flat, f))(theta)
        along = torch.func.jvp(action, (zero,), (torch.ones_like(zero),))[1]
        rows.append(("slope", name, (gradient @ along).abs() / (gradient.norm() * along.norm())))
        rows.append(
            ("finite", name, _change(loss(theta, function)[None], loss(action(zero + 0.7), function)[None]))
        )
    gradient = torch.func.grad(lambda flat: loss(flat, torch.tanh))(theta)
    moved = torch.func.jvp(
        lambda t: loss(torch.linalg.matrix_exp(t * h) @ theta, torch.tanh), (zero,), (torch.ones_like(zero),)
    )[1]
    rows.append(("coordinates", "any matrix h", _change(moved[None], (gradient @ h @ theta)[None])))
    return rows


def radial(x: Tensor) -> Tensor:
    """A radial activation `tanh(|x|) x / |x|` of every column."""
    length = x.norm(dim=0, keepdim=True).clamp_min(1e-12)
    return torch.tanh(length) * x / length


@final
class RadialLayers(nn.Module):
    """`W2 r(W1 x)` with a radial activation r."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.W1 = nn.Linear(inputs, hidden, bias=False)
        self.W2 = nn.Linear(hidden, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.W2(radial(self.W1(x).T).T)
        return result


def _radial(config: Examples, seed: int) -> Rows:
    """Orthogonal maps pass through a radial activation; rescalings of units do not."""
    W1, W2, x, q = _normal(seed, (3, 2), (2, 3), (2, config.batch), (3, 3))
    rotation = torch.linalg.qr(q).Q
    outputs = W2 @ radial(W1 @ x)
    grow = torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64)
    made = parameter_problem(RadialLayers(2, 2, 2), "squared", gaussian_data((2,), (2,)))
    return [
        ("turned", "orthogonal matrix", _change(outputs, W2 @ rotation.T @ radial(rotation @ W1 @ x))),
        ("control", "rescaled units", _change(outputs, W2 / grow @ radial(grow[:, None] * W1 @ x))),
        ("found", "linear symmetries of 2-2-2", linear_symmetries(made, seed=seed, affine=False).dimension),
    ]


def _batch_norm(config: Examples, seed: int) -> Rows:
    """Weights and biases into batch normalisation, multiplied by a positive number for each unit."""
    W1, b, W2, x, running = _normal(seed, (3, 2), (3,), (2, 3), (config.batch, 2), (3,))
    grow = torch.tensor([3.0, 1.0, 0.2], dtype=torch.float64)

    def outputs(scale: Tensor, training: bool, eps: float) -> Tensor:
        inside = x @ (scale[:, None] * W1).T + scale * b
        mean, variance = 0.3 * running, 0.5 + running.square()
        normed = nn.functional.batch_norm(inside, mean.clone(), variance.clone(), training=training, eps=eps)
        return torch.relu(normed) @ W2.T

    one = torch.ones_like(grow)
    return [
        (what, case, _change(outputs(one, training, eps), outputs(grow, training, eps)))
        for what, case, training, eps in (
            ("scaled", "training mode, eps = 1e-30", True, 1e-30),
            ("default eps", "training mode, eps = 1e-5", True, 1e-5),
            ("control", "eval mode, eps = 1e-30", False, 1e-30),
        )
    ]


def _hidden(config: Examples, seed: int) -> Rows:
    """ReLU networks with more directions that keep the function than rescalings of their units.

    A unit of the second hidden layer sees inputs that are not negative: with negative weights and bias it is
    0 for every input, so that its weights may move freely.
    """
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    made = parameter_problem(net, "squared", gaussian_data((2,), (1,), scale=10.0))
    thetas = made.random_points(config.draws, 1, seed).theta
    more = [fibre_dimension(made, theta, seed=seed) - 5 for theta in thetas]
    dead, moved = (thetas[0].clone() for _ in range(2))
    rows = torch.cat([made.layout.indices("2.weight")[0], made.layout.indices("2.bias")[:1]])
    dead[rows] = -thetas[0][rows].abs()
    moved[rows] = -2 * thetas[0][rows].abs() - 0.1
    moved[rows[0]] *= 3  # no rescaling: the weights out of the unit stay, those into it turn
    x = made.random_points(1, 200, seed).x[0]
    return [
        ("dead unit moved", "ReLU 2-3-2-1", _change(made.outputs(dead, x), made.outputs(moved, x))),
        ("more directions", "ReLU 2-3-2-1", sum(k > 0 for k in more) / len(more)),
    ]


def _layers_apart(config: Examples, seed: int) -> Rows:
    """A field on W1 and W3 that leaves W2 alone and keeps the loss of one data point: `u - g (g.u) / |g|^2`.

    u and g are a constant direction and the loss's gradient, with the entries of W2 set to zero.
    """
    made = small_problem("tanh 2-2-2-1")
    free = torch.ones(made.size, dtype=torch.float64)
    free[made.layout.indices("W2.weight").flatten()] = 0.0
    direction = _normal(seed, (made.size,))[0] * free

    def moves(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        gradient = free * torch.func.grad(lambda point: made.losses(point, x, y).sum())(theta)
        return direction - gradient * (gradient @ direction) / gradient.square().sum()

    field = FunctionField(moves, "layers 1 and 3", data_dependent=True)
    tested = verify(made, field, seed=seed, points=8, batch_sizes=(1,), lengths=(0.02,))
    values = torch.func.vmap(moves)(
        *(getattr(made.random_points(8, 1, seed), k) for k in ("theta", "x", "y"))
    )
    shares = [
        values[:, made.layout.indices(f"W{k}.weight").flatten()].norm() / values.norm() for k in (1, 2, 3)
    ]
    return [
        ("apart", "W1 and W3", tested.loss_drift),
        ("apart, other data", "W1 and W3", tested.other_data_drift),
        *[(f"share W{k}", "W1 and W3", share) for k, share in zip((1, 2, 3), shares, strict=True)],
    ]


EXAMPLES: dict[str, Callable[[Examples, int], Rows]] = {
    "homogeneous": _homogeneous,
    "first order": _first_order,
    "radial": _radial,
    "batch norm": _batch_norm,
    "hidden": _hidden,
    "layers apart": _layers_apart,
}
