"""Gradients of the risks, and the fields that strategies of training follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import torch
from torch import Tensor

from symscope.dynamics._declared_network import LayerWeights, check_layer_weights
from symscope.dynamics.averaged_elements import drawn_elements
from symscope.dynamics.layer_vectors import add, inner, project, residual
from symscope.dynamics.risks import TrainingProblem, augmented_problem, feature_averaged_risk, nominal_risk
from symscope.errors import InputError, nearest
from symscope.numerics import explained

__all__ = [
    "GradientEstimate",
    "GradientField",
    "augmented_gradient",
    "equivariant_gradient",
    "feature_averaged_gradient",
    "gradient_field",
    "gradient_of",
    "monte_carlo_gradient",
    "nominal_gradient",
    "penalty_gradient",
]

STRATEGIES = ("nominal", "augmented", "equivariant", "feature-averaged")
GradientField = Callable[[LayerWeights], LayerWeights]

# activations of one piece of an augmented problem; larger ones are taken piece by piece
LARGEST_PIECE_BYTES = {"cpu": 2**28, "cuda": 2**32}  # activations differentiated at once


@explained
def nominal_gradient(problem: TrainingProblem, weights: Sequence[Tensor]) -> LayerWeights:
    """`grad R(A)`, for every run at once.

    Args:
        problem: Network, loss and data; its batches are taken in pieces that fit in memory.
        weights: `A_i [*runs, dim X_{i+1}, dim X_i]`.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import TrainingProblem, declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0]]))
    >>> nominal_gradient(problem, [torch.tensor([[1.0, 1.0]])])
    (tensor([[-2.,  0.]]),)
    """
    total: LayerWeights | None = None
    for piece, share in pieces(problem, weights):
        result = gradient_of(partial(nominal_risk, piece), weights)
        total = tuple(share * g for g in result) if total is None else add(total, result, share)
    assert total is not None
    return total


@explained
def augmented_gradient(
    problem: TrainingProblem, weights: Sequence[Tensor], elements: Sequence[Any] | None = None
) -> LayerWeights:
    """`grad R_aug(A)`, exact over the group or over the elements given; arguments as in `augmented_risk`."""
    return nominal_gradient(augmented_problem(problem, elements), weights)


@explained
def equivariant_gradient(problem: TrainingProblem, weights: Sequence[Tensor]) -> LayerWeights:
    """`grad R_eqv(A) = Pi_E grad R(Pi_E A)`; arguments as in `nominal_risk`."""
    return project(problem.network, nominal_gradient(problem, project(problem.network, weights)))


@explained
def feature_averaged_gradient(
    problem: TrainingProblem, weights: Sequence[Tensor], elements: Sequence[Any] | None = None
) -> LayerWeights:
    """The gradient of the feature-averaged risk; arguments as in `feature_averaged_risk`."""
    return gradient_of(partial(feature_averaged_risk, problem, elements=elements), weights)


@explained
def penalty_gradient(problem: TrainingProblem, weights: Sequence[Tensor], gamma: float) -> LayerWeights:
    """The gradient `2 gamma A_{E_perp}` of the penalty `gamma |A_{E_perp}|^2`."""
    return tuple(2 * gamma * part for part in residual(problem.network, weights))


@final
@dataclass(frozen=True)
class GradientEstimate:
    """A Monte-Carlo gradient.

    Attributes:
        value: The mean gradient.
        standard_error: The root mean square length of its error, `[*runs]`.
        passes: Number of elements drawn.
    """

    value: LayerWeights
    standard_error: Tensor
    passes: int


@explained
def monte_carlo_gradient(
    problem: TrainingProblem, weights: Sequence[Tensor], passes: int, generator: torch.Generator
) -> GradientEstimate:
    """`grad R_aug(A)` from random elements, one for each pass over all the data (the paper's AUGMENTED).

    Args:
        problem: Network, loss and data.
        weights: `A_i [*runs, dim X_{i+1}, dim X_i]`; all runs see the same elements.
        passes: Number of elements to draw, at least two.
        generator: Source of randomness.

    >>> from symscope.groups import permutation, symmetric, trivial
    >>> from symscope.dynamics import TrainingProblem, declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = symmetric(10); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.eye(10)[:1], torch.zeros(1, 1))
    >>> result = monte_carlo_gradient(problem, [torch.ones(1, 10)], 100, torch.Generator().manual_seed(0))
    >>> bool((result.value[0] - 0.1).norm() < 4 * result.standard_error)
    True
    """
    if passes < 2:
        raise InputError(f"expected at least two passes, to know the error, got {passes}.")
    total: LayerWeights | None = None
    squares = torch.zeros(())
    for g in drawn_elements(problem.network.group, passes, generator):
        result = augmented_gradient(problem, weights, [g])
        total = result if total is None else add(total, result)
        squares = squares + inner(result, result).cpu()
    assert total is not None
    mean = tuple(layer / passes for layer in total)
    spread = (squares / passes - inner(mean, mean).cpu()).clamp(min=0)
    return GradientEstimate(mean, (spread / (passes - 1)).sqrt(), passes)


@explained
def gradient_field(
    problem: TrainingProblem,
    strategy: str,
    *,
    penalty: float = 0.0,
    elements: Sequence[Any] | None = None,
    passes: int | None = None,
    generator: torch.Generator | None = None,
) -> GradientField:
    """The gradient a strategy of training follows, as a function of the layers.

    Args:
        problem: Network, loss and data.
        strategy: "nominal", "augmented", "equivariant" or "feature-averaged".
        penalty: Adds the gradient of `penalty |A_{E_perp}|^2`.
        elements: What augmentation averages over; by default all of the group.
        passes: Number of new elements to draw at each call instead, for "augmented".
        generator: Source of randomness for `passes`.

    Raises:
        InputError: Another strategy, a negative penalty, or passes without a generator.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import TrainingProblem, declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0]]))
    >>> gradient_field(problem, "augmented")((torch.tensor([[1.0, 1.0]]),))
    (tensor([[-1., -1.]]),)
    """
    if strategy not in STRATEGIES:
        raise InputError(
            f"expected a strategy among {', '.join(STRATEGIES)}, got {strategy!r}: "
            f"{nearest(strategy, STRATEGIES)}"
        )
    if not 0 <= penalty < math.inf:
        raise InputError(f"expected a penalty of 0 or more, got {penalty}.")
    if passes is not None and (generator is None or strategy != "augmented"):
        raise InputError("expected a generator and the strategy augmented together with passes.")
    plain = _plain_field(problem, strategy, elements, passes, generator)
    if penalty == 0:
        return plain
    return lambda weights: add(plain(weights), penalty_gradient(problem, weights, penalty))


@explained
def gradient_of(risk: Callable[[LayerWeights], Tensor], weights: Sequence[Tensor]) -> LayerWeights:
    """The gradient of any risk of layers, `[*runs]`-valued, for every run at once.

    >>> gradient_of(lambda a: (a[0] ** 3).sum(), [torch.tensor([[2.0]])])
    (tensor([[12.]]),)
    """
    if not all(weight.is_floating_point() for weight in weights):
        raise InputError("weights: expected floating-point numbers.")
    leaves = tuple(weight.detach().requires_grad_() for weight in weights)
    return torch.autograd.grad(risk(leaves).sum(), leaves, materialize_grads=True)


def pieces(problem: TrainingProblem, weights: Sequence[Tensor]) -> Iterator[tuple[TrainingProblem, float]]:
    """A problem's batches in pieces whose activations fit in memory, each with its share of the risk."""
    check_layer_weights(problem.network, weights)
    if problem.x.ndim == 2:
        yield problem, 1.0
        return
    count = problem.x.shape[0]
    widths = problem.x.shape[-1] + sum(rows for rows, _ in problem.network.shapes)
    runs = math.prod(weights[0].shape[:-2])
    one = problem.x[0].numel() // problem.x.shape[-1] * widths * runs * problem.x.element_size()
    most = LARGEST_PIECE_BYTES.get(problem.x.device.type, LARGEST_PIECE_BYTES["cpu"])
    size = max(1, most // max(one, 1))
    for start in range(0, count, size):
        x, y = problem.x[start : start + size], problem.y[start : start + size]
        whole = problem if len(x) == count else TrainingProblem(problem.network, problem.loss, x, y)
        yield whole, len(x) / count


def _plain_field(
    problem: TrainingProblem,
    strategy: str,
    elements: Sequence[Any] | None,
    passes: int | None,
    generator: torch.Generator | None,
) -> GradientField:
    if strategy == "nominal":
        return partial(nominal_gradient, problem)
    if strategy == "equivariant":
        return partial(equivariant_gradient, problem)
    if strategy == "feature-averaged":
        return partial(feature_averaged_gradient, problem, elements=elements)
    if passes is None:
        return partial(nominal_gradient, augmented_problem(problem, elements))
    assert generator is not None

    def drawn(weights: LayerWeights) -> LayerWeights:
        chosen = drawn_elements(problem.network.group, passes, generator)
        return augmented_gradient(problem, weights, chosen)

    return drawn
