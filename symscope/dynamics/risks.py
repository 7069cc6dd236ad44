"""Risks of a network on data: nominal, augmented, equivariant, feature-averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from symscope.dynamics._declared_network import DeclaredNetwork, check_layer_weights
from symscope.dynamics.averaged_elements import all_elements, drawn_elements
from symscope.dynamics.layer_vectors import project, transform
from symscope.errors import InputError
from symscope.groups import Representation
from symscope.networks import Loss, sample_losses
from symscope.numerics import checked, explained

__all__ = [
    "RiskEstimate",
    "TrainingProblem",
    "augmented_problem",
    "augmented_risk",
    "equivariant_risk",
    "feature_average",
    "feature_averaged_risk",
    "monte_carlo_risk",
    "nominal_risk",
]

AVERAGES = ("data", "layers")


@final
@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """A network, a loss, and the data it is trained on.

    Attributes:
        network: A declaration.
        loss: `(outputs [..., n, d], targets [..., n, d]) -> [..., n]`, see `symscope.networks.losses`.
        x: Inputs `[*batches, n, dim X_0]`; leading axes are batches that normalisation does not mix.
        y: Targets `[*batches, n, dim X_L]`, on which the group acts as on predictions (one-hot labels).

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(3); net = declare_network([permutation(g), trivial(g)])
    >>> TrainingProblem(net, half_squared_loss, torch.ones(5, 3), torch.ones(5, 1)).x.shape
    torch.Size([5, 3])
    """

    network: DeclaredNetwork
    loss: Loss
    x: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.network, DeclaredNetwork):
            raise InputError(
                f"network: expected a network made by declare_network, got {type(self.network).__name__}: "
                "declare the spaces of its layers, or use layer_equivariance for a module of your own."
            )
        _check_data("x", self.x, self.network.sources[0])
        _check_data("y", self.y, self.network.output)
        if self.x.shape[:-1] != self.y.shape[:-1]:
            raise InputError(
                f"expected as many targets as samples, got x {tuple(self.x.shape)} and y "
                f"{tuple(self.y.shape)}."
            )


@explained
def nominal_risk(problem: TrainingProblem, weights: Sequence[Tensor]) -> Tensor:
    """`R(A) = mean loss(Phi_A(x), y)`.

    Args:
        problem: Network, loss and data.
        weights: `A_i [*runs, dim X_{i+1}, dim X_i]`.

    Returns:
        `[*runs]`.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0]])
    >>> nominal_risk(TrainingProblem(net, half_squared_loss, x, y), [torch.tensor([[1.0, 1.0]])])
    tensor(2.)
    """
    check_layer_weights(problem.network, weights)
    runs = weights[0].ndim - 2
    x, y = _beside_runs(problem.x, runs), _beside_runs(problem.y, runs)
    return _mean_loss(problem, problem.network.forward(weights, x), y)


@explained
def equivariant_risk(problem: TrainingProblem, weights: Sequence[Tensor]) -> Tensor:
    """`R_eqv(A) = R(Pi_E A)`, Eq. 2; arguments as in `nominal_risk`."""
    return nominal_risk(problem, project(problem.network, weights))


@explained
def augmented_problem(problem: TrainingProblem, elements: Sequence[Any] | None = None) -> TrainingProblem:
    """The same problem with a batch `(g x, g y)` for every element: its nominal risk is the augmented risk.

    Args:
        problem: Network, loss and data.
        elements: What to average over; by default all of the group.

    Raises:
        InputError: A group too large to average over exactly.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(3); net = declare_network([permutation(g), trivial(g)])
    >>> augmented_problem(TrainingProblem(net, half_squared_loss, torch.ones(5, 3), torch.ones(5, 1))).x.shape
    torch.Size([3, 5, 3])
    """
    source, target = problem.network.sources[0], problem.network.output
    chosen = _chosen(problem.network, elements)
    return TrainingProblem(
        problem.network,
        problem.loss,
        torch.stack([source.act(g, problem.x) for g in chosen]),
        torch.stack([target.act(g, problem.y) for g in chosen]),
    )


@explained
def augmented_risk(
    problem: TrainingProblem,
    weights: Sequence[Tensor],
    elements: Sequence[Any] | None = None,
    over: str = "data",
) -> Tensor:
    """`R_aug(A)`, the mean over g of the risk on `(g x, g y)`, or of `R(rho_bar(g) A)` (Lemma 4).

    Args:
        problem: Network, loss and data.
        weights: `A_i [*runs, dim X_{i+1}, dim X_i]`.
        elements: What to average over; by default all of the group.
        over: "data" transforms data, "layers" transforms layers; equal under Assumptions 2 and 3.

    Returns:
        `[*runs]`.

    Raises:
        InputError: A group too large to average over exactly, or another value of `over`.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0]]))
    >>> [augmented_risk(problem, [torch.tensor([[1.0, 3.0]])], over=o).item() for o in ("data", "layers")]
    [1.0, 1.0]
    """
    if over not in AVERAGES:
        raise InputError(f"expected over to be data or layers, got {over!r}.")
    if over == "data":
        return nominal_risk(augmented_problem(problem, elements), weights)
    moved = (transform(problem.network, g, weights) for g in _chosen(problem.network, elements))
    return torch.stack([nominal_risk(problem, layers) for layers in moved]).mean(dim=0)


@explained
def feature_average(
    network: DeclaredNetwork, weights: Sequence[Tensor], x: Tensor, elements: Sequence[Any] | None = None
) -> Tensor:
    """`Phi_FA(x) = mean_g rho_Y(g)^-1 Phi_A(rho_X(g) x)`, an equivariant function for any A (Remark 1)."""
    group = network.group
    chosen = _chosen(network, elements)
    source, target = network.sources[0], network.output
    total = sum(target.act(group.inverse(g), network.forward(weights, source.act(g, x))) for g in chosen)
    return torch.as_tensor(total) / len(chosen)


@explained
def feature_averaged_risk(
    problem: TrainingProblem, weights: Sequence[Tensor], elements: Sequence[Any] | None = None
) -> Tensor:
    """The risk of the feature-averaged network, `mean loss(Phi_FA(x), y)`.

    The paper's Eq. 3 equates it with the augmented risk. For convex losses it is at most that (Jensen), with
    equality on E.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0]]))
    >>> feature_averaged_risk(problem, [torch.tensor([[1.0, 3.0]])]).item()
    0.5
    """
    check_layer_weights(problem.network, weights)
    runs = weights[0].ndim - 2
    x, y = _beside_runs(problem.x, runs), _beside_runs(problem.y, runs)
    return _mean_loss(problem, feature_average(problem.network, weights, x, elements), y)


@final
@dataclass(frozen=True)
class RiskEstimate:
    """A Monte-Carlo mean over group elements.

    Attributes:
        value: The mean, `[*runs]`.
        standard_error: Standard error of the mean, `[*runs]`.
        passes: Number of elements drawn.
    """

    value: Tensor
    standard_error: Tensor
    passes: int


@checked
def monte_carlo_risk(
    problem: TrainingProblem, weights: Sequence[Tensor], passes: int, generator: torch.Generator
) -> RiskEstimate:
    """`R_aug(A)` estimated from random elements, each acting on all the data in one pass.

    Args:
        problem: Network, loss and data.
        weights: `A_i [*runs, dim X_{i+1}, dim X_i]`.
        passes: Number of elements to draw, at least two.
        generator: Source of randomness.

    Raises:
        InputError: Fewer than two passes: they have no standard error.

    >>> from symscope.groups import permutation, symmetric, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = symmetric(10); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.eye(10)[:1], torch.zeros(1, 1))
    >>> result = monte_carlo_risk(problem, [torch.arange(10.0)[None]], 400, torch.Generator().manual_seed(0))
    >>> bool((result.value - 14.25).abs() < 4 * result.standard_error)
    True
    """
    if passes < 2:
        raise InputError(f"expected at least two passes, to know the error, got {passes}.")
    drawn = drawn_elements(problem.network.group, passes, generator)
    risks = torch.stack([augmented_risk(problem, weights, [g]) for g in drawn])
    return RiskEstimate(risks.mean(dim=0), risks.std(dim=0) / math.sqrt(passes), passes)


def _mean_loss(problem: TrainingProblem, prediction: Tensor, y: Tensor) -> Tensor:
    """`[*runs]`, from predictions `[*batches, *runs, n, d]`."""
    risk = sample_losses(problem.loss, prediction, y).mean(dim=-1)
    batches = tuple(range(problem.x.ndim - 2))
    return risk.mean(dim=batches) if batches else risk


def _chosen(network: DeclaredNetwork, elements: Sequence[Any] | None) -> list[Any]:
    """The elements to average over: those given, or all of the group."""
    chosen = all_elements(network.group) if elements is None else list(elements)
    if not chosen:
        raise InputError(
            "expected at least one group element to average over, got none: leave elements out for all of "
            "the group, or give drawn_elements(group, passes, generator)."
        )
    return chosen


def _beside_runs(data: Tensor, runs: int) -> Tensor:
    """`[*batches, n, d] -> [*batches, 1, .., 1, n, d]`, so that batches and runs do not meet."""
    return data.reshape(*data.shape[:-2], *[1] * runs, *data.shape[-2:])


def _check_data(name: str, data: Tensor, space: Representation) -> None:
    if data.ndim < 2 or data.shape[-1] != space.dim or not data.is_floating_point():
        hint = ": write labels as one-hot vectors" if name == "y" else ": flatten each sample to a vector"
        raise InputError(
            f"expected {name} as floating-point numbers [..., n, {space.dim}] in {space!r}, got "
            f"{data.dtype} {tuple(data.shape)}{hint}."
        )
    if data.shape[-2] == 0 or not bool(data.isfinite().all()):
        raise InputError(f"expected finite {name} with at least one sample; it is empty or has NaN.")
