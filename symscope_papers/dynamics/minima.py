"""Stationary points of the equivariant risk, found in coordinates of E."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from symscope.dynamics import TrainingProblem
from symscope.dynamics.layer_vectors import LayerWeights, coordinates, from_coordinates
from symscope.dynamics.risks import nominal_risk
from symscope.errors import InputError

LARGEST_COORDINATES = 1000
_POLISH = 50
_NEWTON = 4


def equivariant_minimum(
    problem: TrainingProblem, weights: Sequence[Tensor], *, tolerance: float = 1e-11, steps: int = 2000
) -> LayerWeights:
    """A local minimum of R_eqv, by quasi-Newton and Newton steps.

    Args:
        problem: Network, loss and data, float64, with smooth steps.
        weights: Layers to start from; projected on E.
        tolerance: Largest gradient norm accepted.
        steps: Most steps of the quasi-Newton method.

    Raises:
        InputError: Too many coordinates, or no stationary point found: give another start or more steps.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> x, y = torch.tensor([[1.0, 0.0]]).double(), torch.ones(1, 1).double()
    >>> problem = TrainingProblem(net, half_squared_loss, x, y)
    >>> equivariant_minimum(problem, [torch.zeros(1, 2).double()])[0].round(decimals=9).tolist()
    [[1.0, 1.0]]
    """
    from scipy.optimize import least_squares, minimize

    network = problem.network
    if network.equivariant_dimension > LARGEST_COORDINATES:
        raise InputError(
            f"expected at most {LARGEST_COORDINATES} coordinates of E, got "
            f"{network.equivariant_dimension}: use gradient_descent on the equivariant risk."
        )

    def risk(c: Tensor) -> Tensor:
        return nominal_risk(problem, from_coordinates(network, c))

    def gradient(c: np.ndarray) -> np.ndarray:
        leaf = torch.from_numpy(c.copy()).requires_grad_()
        return torch.autograd.grad(risk(leaf), leaf)[0].numpy()

    def curvature(c: np.ndarray) -> np.ndarray:
        return np.asarray(torch.autograd.functional.hessian(risk, torch.from_numpy(c.copy())))

    start = coordinates(network, weights).detach().to(torch.float64).cpu().numpy()
    result = minimize(  # type: ignore[call-overload]
        lambda c: float(risk(torch.from_numpy(c.copy()))),
        start,
        jac=gradient,
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": steps},
    )
    # quasi-Newton steps stop at the rounding of the risk; the gradient itself can be brought lower
    best = least_squares(
        gradient, result.x, jac=curvature, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=_POLISH
    ).x
    for _ in range(_NEWTON):
        at = best - np.linalg.lstsq(curvature(best), gradient(best), rcond=1e-12)[0]
        best = at if np.linalg.norm(gradient(at)) < np.linalg.norm(gradient(best)) else best
    if (left := float(np.linalg.norm(gradient(best)))) <= tolerance:
        return from_coordinates(network, torch.from_numpy(best))
    raise InputError(
        f"no stationary point of the equivariant risk within {steps} steps (gradient "
        f"{left:.2g}): give another start, more steps, smooth steps."
    )


def stationary_targets(problem: TrainingProblem, weights: Sequence[Tensor]) -> TrainingProblem:
    """The problem with targets moved, as little as possible, until layers of E are stationary for R_eqv.

    The gradient on E is affine in the targets for the losses of `symscope.networks.losses`; the smallest
    change that makes it zero solves a linear system.

    Args:
        problem: Network, loss and data, float64, one batch.
        weights: Equivariant layers.

    Raises:
        InputError: Fewer targets than coordinates of E, or a loss that is not affine in this sense.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> x, y = torch.tensor([[1.0, 0.0]]).double(), torch.ones(1, 1).double()
    >>> problem = TrainingProblem(net, half_squared_loss, x, y)
    >>> stationary_targets(problem, [torch.full((1, 2), 3.0).double()]).y.round(decimals=9).tolist()
    [[3.0]]
    """
    network = problem.network
    at = coordinates(network, weights).detach().requires_grad_()

    def slope(y: Tensor) -> Tensor:
        risk = problem.loss(network.forward(from_coordinates(network, at), problem.x), y).mean()
        return torch.autograd.grad(risk, at, create_graph=True)[0]

    if problem.y.numel() < network.equivariant_dimension or problem.y.ndim != 2:
        raise InputError(
            f"expected one batch with at least {network.equivariant_dimension} target numbers, as many as E "
            f"has dimensions, got shape {tuple(problem.y.shape)}: give more samples."
        )
    change = torch.as_tensor(torch.autograd.functional.jacobian(slope, problem.y)).flatten(1)
    start = slope(problem.y).detach()
    moved = torch.linalg.lstsq(change, -start, driver="gelsd").solution.reshape(problem.y.shape)
    result = replace(problem, y=problem.y + moved)
    left = float(slope(result.y).detach().norm())
    if left > 1e-9 * float(start.norm()):
        raise InputError(
            f"expected a loss whose gradient is affine in the targets; {left:.2g} of it is left: use "
            "half_squared_loss, soft_cross_entropy_loss or binary_cross_entropy_loss."
        )
    return result
