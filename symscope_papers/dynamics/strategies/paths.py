"""Training from a point of E at paper size: how far each strategy goes, and how far from E.

The layers are kept as `A = A_0 + D`: A_0 exactly in E, D the sum of all steps. Then `|A - A_0| = |D|` and
`A_{E_perp} = D_{E_perp}`, and neither is rounded to the digits of A: single steps are far below them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.dynamics import TrainingProblem
from symscope.dynamics.layer_vectors import (
    LayerWeights,
    check_alike,
    check_equivariant,
    check_finite_layers,
    check_layer_weights,
    rounding_off_e,
)
from symscope.errors import InputError, nearest
from symscope.networks import sample_losses
from symscope_papers.dynamics.strategies.passes import Passes, drawn_passes, plain_passes
from symscope_papers.dynamics.strategies.products import RowsTimesLayer, product, product_flops, split_layer
from symscope_papers.dynamics.strategies.projection import distances, layer_projections, projected

STRATEGIES = ("equivariant", "augmented", "nominal", "projected layer")
LARGEST_BYTES = {"cpu": 2**27, "cuda": 2**32}  # activations of one piece of an epoch
COPIES = 4  # of every activation: itself, its gradient, and what products make of the two


@final
@dataclass(frozen=True, eq=False)
class Path:
    """Where training went.

    Attributes:
        travelled: `|A - A_0|` per layer, before the first and after every epoch.
        drift: `|A_{E_perp}|` per layer.
        risk: The risk each epoch's gradient was taken of.
        change: `A - A_0` at the end.
        samples: Number of samples that went through the network, all runs and epochs.
    """

    travelled: Float64[Tensor, "t layers runs"]
    drift: Float64[Tensor, "t layers runs"]
    risk: Float64[Tensor, "epochs runs"]
    change: LayerWeights
    samples: int


def path(
    problem: TrainingProblem,
    start: Sequence[Tensor],
    strategy: str,
    *,
    rate: float,
    epochs: int,
    passes: int = 25,
    generators: Sequence[torch.Generator] = (),
    weights: Sequence[float] | None = None,
    mixed: bool = False,
) -> Path:
    """Gradient descent from A_0 in E, one step per epoch, gradients summed over all mini-batches (Sec. 5).

    Args:
        problem: Network, loss and mini-batches `x [batches, n, d]`, on any device, in the dtype to train in.
        start: A_0 `[runs, dim X_{i+1}, dim X_i]`, in E (`equivariant_weights`), in the dtype of x.
        strategy: "nominal"; "augmented", where every mini-batch is seen under random elements; or
            "equivariant", where the gradient is projected on E; or "projected layer", as the authors' scripts
            have it: the last layer that the group acts on is projected before the step, its gradient is not.
        rate: Learning rate.
        epochs: Steps.
        passes: Times each mini-batch is seen; used by "augmented" only.
        generators: One random generator for each run; used by "augmented" only.
        weights: Probability of each element of a listed group, all alike by default; "augmented" only.
        mixed: Round what flows back to half precision, number by number; layers, predictions and steps keep
            single precision. For networks in float32 whose coordinates the group permutes: there rounding
            breaks no symmetry.

    Raises:
        InputError: Another strategy, shapes or dtypes that do not fit, a start that is not in E, or layers
            that stop being finite.

    >>> from symscope.dynamics import declare_network

    >>> from symscope.networks.losses import half_squared_loss
    >>> from symscope.groups import cyclic, permutation, trivial
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> x, y = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[3.0]]])
    >>> problem = TrainingProblem(net, half_squared_loss, x, y)
    >>> result = path(problem, [torch.ones(1, 1, 2)], "nominal", rate=0.1, epochs=1)
    >>> result.change[0].tolist(), [round(v, 6) for v in result.drift.flatten().tolist()]
    ([[[0.20000000298023224, 0.0]]], [0.0, 0.141421])
    """
    _check(problem, start, strategy, rate, epochs, generators, mixed)
    projections = layer_projections(problem.network, problem.x.device)
    _check_start(start, distances(projections, start))
    change: LayerWeights = tuple(torch.zeros_like(layer) for layer in start)
    travelled, drift, risks, samples = [_norms(change)], [_norms(change)], [], 0
    for epoch in range(epochs):
        if strategy == "augmented":
            seen = drawn_passes(problem, passes, generators, weights)
        else:
            seen = plain_passes(problem)
        point = tuple(a + d for a, d in zip(start, change, strict=True))
        gradient, risk = pass_gradient(problem, point, seen, mixed=mixed)
        if strategy == "equivariant":
            gradient = projected(projections, gradient)
        elif strategy == "projected layer":
            last = max(i for i, one in enumerate(projections) if not one.whole)
            kept, nearest_layer = gradient[last], projections[last].project(change[last])
            gradient = projected(projections, gradient)
            gradient = (*gradient[:last], kept, *gradient[last + 1 :])
            change[last].copy_(nearest_layer)
        for layer, step in zip(change, gradient, strict=True):
            layer.sub_(step, alpha=rate)
        travelled.append(_norms(change))
        drift.append(distances(projections, change))
        risks.append(risk)
        samples += len(seen) * problem.x.shape[1] * start[0].shape[0]
        if epoch % 10 == 9 or epoch == epochs - 1:
            _check_bounded(travelled[-1], epoch + 1, rate)
    return Path(
        torch.stack(travelled).cpu(),
        torch.stack(drift).cpu(),
        torch.stack(risks).to(torch.float64).cpu(),
        change,
        samples,
    )


def pass_gradient(
    problem: TrainingProblem, layers: Sequence[Tensor], seen: Passes, *, mixed: bool = False
) -> tuple[LayerWeights, Tensor]:
    """The gradient of the risk over given passes, and the risk, for every run at once.

    Args:
        problem: Network, loss and mini-batches.
        layers: `A_i [runs, dim X_{i+1}, dim X_i]`.
        seen: Passes over mini-batches; they are taken in pieces that fit in memory.
        mixed: Whether gradients are rounded to half precision on their way back, as in `path`.

    Returns:
        The gradient, and the risk `[runs]`.
    """
    leaves = tuple(layer.detach().requires_grad_() for layer in layers)
    runs, size = leaves[0].shape[0], _piece(problem, leaves)
    total: list[Tensor] = []
    multiply = _products(leaves, mixed)
    risk = torch.zeros(runs, dtype=problem.x.dtype, device=problem.x.device)
    for start in range(0, len(seen), size):
        piece = seen.part(start, start + size)
        x, y = piece.data(problem)
        prediction = problem.network.forward([leaf[:, None] for leaf in leaves], x, multiply)
        losses = sample_losses(problem.loss, prediction, y).mean(-1)
        value = (losses * piece.shares).sum(-1)
        result = torch.autograd.grad(value.sum(), leaves, materialize_grads=True)
        risk += value.detach()
        if not total:
            total = list(result)
        else:
            for layer, more in zip(total, result, strict=True):
                layer += more
    return tuple(total), risk


def sampling_drift(
    problem: TrainingProblem,
    start: Sequence[Tensor],
    *,
    passes: int,
    most_batches: int = 16,
    mixed: bool = False,
) -> Float64[Tensor, "runs"]:
    """How far one step of size 1 on sampled elements leads out of E, root mean square.

    At A in E the gradient of mini-batch b under g is `rho_bar(g)^-1 grad R_b(A)`: outside E it has mean zero
    and length `|Pi_perp grad R_b|`. Over B batches and N passes, all drawn independently, the mean has
    `sqrt(mean_b |Pi_perp grad R_b|^2 / (B N))`; after t small steps times `rate sqrt(t)`.

    Args:
        problem: Network, loss and mini-batches.
        start: Layers in E, `[runs, ...]`.
        passes: N.
        most_batches: Number of mini-batches to average over, spread evenly; all where there are fewer.
        mixed: Whether gradients are rounded to half precision on their way back, as in `path`.
    """
    projections = layer_projections(problem.network, problem.x.device)
    batches = problem.x.shape[0]
    chosen = torch.linspace(0, batches - 1, min(batches, most_batches)).round().long()
    squares = []
    for b in chosen.tolist():
        one = TrainingProblem(problem.network, problem.loss, problem.x[b : b + 1], problem.y[b : b + 1])
        gradient, _ = pass_gradient(one, start, plain_passes(one), mixed=mixed)
        squares.append(distances(projections, gradient).square().sum(0))
    return (torch.stack(squares).mean(0) / (batches * passes)).sqrt().cpu()


def gradient_flops(
    problem: TrainingProblem, samples: int, *, halved: bool = False, mixed: bool = False
) -> float:
    """Operations of the products for the gradients of some samples: forward, and back to inputs and layers.

    Args:
        problem: Its network.
        samples: That go through it.
        halved: Count three products of halves for each.
        mixed: Count three forward, two back to the inputs, one to the layer.

    >>> from symscope.dynamics import declare_network

    >>> from symscope.networks.losses import half_squared_loss
    >>> from symscope.groups import cyclic, permutation, trivial
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g, 3), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.ones(1, 5, 2), torch.ones(1, 5, 1))
    >>> gradient_flops(problem, 5)  # 2 x 5 x (2 x 6 + 3 x 3)
    210.0
    """
    forward, to_inputs, to_layer = (3, 2, 1) if mixed else (3, 3, 3) if halved else (1, 1, 1)
    return sum(
        (forward + to_layer + (to_inputs if i > 0 else 0)) * product_flops(samples, columns, rows)
        for i, (rows, columns) in enumerate(problem.network.shapes)
    )


class _RowsProduct(torch.autograd.Function):
    """`x A^T` for each run, with the products of `products` forward and back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, layer: Tensor) -> Tensor:
        ctx.save_for_backward(x, layer)
        return _multiplied(x, layer.mT)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, layer = ctx.saved_tensors
        [output] = outputs
        to_x = _multiplied(output, layer) if ctx.needs_input_grad[0] else None
        to_layer = _multiplied(output.mT, x) if ctx.needs_input_grad[1] else None
        return to_x, to_layer


def _products(layers: Sequence[Tensor], mixed: bool) -> Callable[[Tensor, Tensor], Tensor]:
    """`[r or 1, p, n, i]` times `[r, 1, o, i]` transposed: passes and samples are rows of one matrix.

    In mixed precision layers are split once; products ask for them in turn, again and again.
    """
    splits = cycle([[split_layer(one) for one in layer] for layer in layers] if mixed else ())

    def multiply(x: Tensor, layer: Tensor) -> Tensor:
        runs, (passes, samples) = layer.shape[0], x.shape[1:3]
        rows = x.expand(runs, *x.shape[1:]).flatten(1, 2)
        out: Tensor
        if mixed:
            out = RowsTimesLayer.apply(rows, layer[:, 0], next(splits))
        else:
            out = _RowsProduct.apply(rows, layer[:, 0])
        return out.unflatten(1, (passes, samples))

    return multiply


def _multiplied(a: Tensor, b: Tensor) -> Tensor:
    return product(a[0], b[0])[None] if a.shape[0] == 1 else a @ b


def _piece(problem: TrainingProblem, layers: Sequence[Tensor]) -> int:
    """Number of passes taken at once."""
    widths = problem.x.shape[-1] + sum(rows for rows, _ in problem.network.shapes)
    one = COPIES * widths * layers[0].shape[0] * problem.x.shape[1] * problem.x.element_size()
    return max(1, LARGEST_BYTES.get(problem.x.device.type, 2**27) // one)


def _norms(layers: Sequence[Tensor]) -> Float64[Tensor, "layers runs"]:
    return torch.stack([torch.linalg.matrix_norm(layer, dtype=torch.float64) for layer in layers])


def _check(
    problem: TrainingProblem,
    start: Sequence[Tensor],
    strategy: str,
    rate: float,
    epochs: int,
    generators: Sequence[torch.Generator],
    mixed: bool,
) -> None:
    check_layer_weights(problem.network, start)
    if strategy not in STRATEGIES:
        raise InputError(
            f"expected a strategy among {', '.join(STRATEGIES)}, got {strategy!r}: "
            f"{nearest(strategy, STRATEGIES)}"
        )
    if not 0 < rate < math.inf or epochs < 1:
        raise InputError(f"expected a positive rate and number of epochs, got {rate} and {epochs}.")
    if problem.x.ndim != 3 or start[0].ndim != 3:
        raise InputError(
            "expected mini-batches x [batches, n, d] and layers [runs, rows, columns], got x "
            f"{tuple(problem.x.shape)} and a first layer {tuple(start[0].shape)}."
        )
    if mixed and problem.x.dtype != torch.float32:
        raise InputError(f"mixed: expected samples and layers in float32, got {problem.x.dtype}.")
    check_alike(start, problem.x)
    if strategy == "augmented" and len(generators) != start[0].shape[0]:
        raise InputError(
            f"expected one generator for each of {start[0].shape[0]} runs, got {len(generators)}."
        )


def _check_start(start: Sequence[Tensor], outside: Float64[Tensor, "layers runs"]) -> None:
    check_finite_layers(start)
    check_equivariant(outside.norm(dim=0), _norms(start).norm(dim=0), rounding_off_e(start[0].dtype))


def _check_bounded(sizes: Tensor, epoch: int, rate: float) -> None:
    if not bool(sizes.isfinite().all()):
        raise InputError(
            f"the layers are no longer finite after {epoch} steps of rate {rate:g}: lower the rate."
        )
