"""The converses of Proposition 3 fail: the counter-examples of App. B as networks, and two from practice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from torch import Tensor

from symscope.dynamics import TrainingProblem, declare_network
from symscope.dynamics.gradients import gradient_of
from symscope.dynamics.layer_vectors import LayerWeights, coordinates, flatten, from_coordinates, norm
from symscope.dynamics.risks import augmented_problem, nominal_risk
from symscope.errors import InputError
from symscope.groups import Representation, cyclic, permutation, symmetric, trivial
from symscope.networks import named_loss
from symscope_papers.dynamics.dense_hessian import hessian_of
from symscope_papers.dynamics.minima import equivariant_minimum

STATIONARY = 1e-9
STRICT = 1e-9


@final
@dataclass(frozen=True)
class Minimum:
    """Whether layers are a strict local minimum of one risk.

    Attributes:
        gradient: Norm of the gradient.
        lowest: Smallest eigenvalue of the Hessian, on E for the equivariant risk.
    """

    gradient: float
    lowest: float

    @property
    def strict(self) -> bool:
        """Stationary, with a positive definite Hessian."""
        return self.gradient <= STATIONARY and self.lowest > STRICT


@final
@dataclass(frozen=True, eq=False)
class Counterexample:
    """A problem and equivariant layers at which the risks disagree about being a minimum.

    Attributes:
        name: What it shows.
        problem: Network, loss and data.
        weights: The point, in E.
        nominal: Whether the point is a minimum of R.
        augmented: Whether it is one of R_aug.
        equivariant: Whether it is one of R_eqv, on E.
    """

    name: str
    problem: TrainingProblem
    weights: LayerWeights
    nominal: Minimum
    augmented: Minimum
    equivariant: Minimum


def minimum_of(problem: TrainingProblem, weights: Sequence[Tensor]) -> Minimum:
    """Whether layers are a strict minimum of the risk of a small problem, by its dense Hessian.

    >>> one = permutation(cyclic(1)); x = torch.ones(1, 1).double()
    >>> from symscope.networks.losses import half_squared_loss
    >>> minimum_of(TrainingProblem(declare_network([one, one]), half_squared_loss, x, x), [x]).strict
    True
    """
    risk = partial(nominal_risk, problem)
    curvature = hessian_of(risk, problem.network, flatten(weights))
    return Minimum(float(norm(gradient_of(risk, weights))), float(torch.linalg.eigvalsh(curvature)[0]))


def counterexample_at(name: str, problem: TrainingProblem, weights: Sequence[Tensor]) -> Counterexample:
    """The three risks at one point of E."""
    network = problem.network

    def inside(c: Tensor) -> Tensor:
        return nominal_risk(problem, from_coordinates(network, c))

    c = coordinates(network, weights)
    curvature = torch.as_tensor(torch.autograd.functional.hessian(inside, c))
    leaf = c.detach().requires_grad_()
    [slope] = torch.autograd.grad(inside(leaf), leaf)
    equivariant = Minimum(float(slope.norm()), float(torch.linalg.eigvalsh(curvature)[0]))
    return Counterexample(
        name,
        problem,
        tuple(weights),
        minimum_of(problem, weights),
        minimum_of(augmented_problem(problem), weights),
        equivariant,
    )


def quadratic_problem(form: Tensor, rep: Representation) -> TrainingProblem:
    """One layer `X -> R` whose nominal risk is `1/2 A form A^T`.

    The data are the eigenvectors of the form; the loss `y z^2 / 2` weights each by its eigenvalue.

    Args:
        form: Symmetric, `[dim X, dim X]`, of any signature.
        rep: X.

    >>> v = permutation(cyclic(2))
    >>> problem = quadratic_problem(torch.tensor([[1.0, 0.0], [0.0, -2.0]]).double(), v)
    >>> round(nominal_risk(problem, [torch.tensor([[1.0, 1.0]]).double()]).item(), 12)
    -0.5
    """
    if form.shape != (rep.dim, rep.dim) or not torch.equal(form, form.T):
        raise InputError(f"expected a symmetric form [{rep.dim}, {rep.dim}], got {tuple(form.shape)}.")
    values, vectors = torch.linalg.eigh(form.to(torch.float64))
    network = declare_network([rep, trivial(rep.group)])
    return TrainingProblem(network, _weighted_square, vectors.T.contiguous(), rep.dim * values[:, None])


def augmented_not_nominal(n: int) -> Counterexample:
    """App. B, first: `U = (n + 1) e1 e1 - e2 e2` is indefinite, its mean over S_n is the identity.

    >>> result = augmented_not_nominal(4)
    >>> result.nominal.strict, result.augmented.strict
    (False, True)
    """
    form = torch.zeros(n, n, dtype=torch.float64)
    form[0, 0], form[1, 1] = n + 1, -1
    return _at_zero("U of App. B: minimum of R_aug, not of R", form)


def equivariant_not_augmented(n: int) -> Counterexample:
    """App. B, second: `V = -1 + (2/n) 11^T` is positive on E only.

    >>> result = equivariant_not_augmented(4)
    >>> result.augmented.strict, result.equivariant.strict
    (False, True)
    """
    form = -torch.eye(n, dtype=torch.float64) + torch.full((n, n), 2 / n, dtype=torch.float64)
    return _at_zero("V of App. B: minimum of R_eqv, not of R_aug", form)


def one_sample(n: int) -> Counterexample:
    """From practice, first: least squares on one sample; augmentation adds the directions it lacks.

    One sample leaves R flat in n - 1 directions; its n shifts determine every weight.

    >>> result = one_sample(4)
    >>> result.nominal.strict, result.augmented.strict
    (False, True)
    """
    g = cyclic(n)
    x = torch.arange(1.0, n + 1, dtype=torch.float64)[None] ** 2 / n
    problem = TrainingProblem(
        declare_network([permutation(g), trivial(g)]),
        named_loss("half-squared"),
        x,
        x.sum(dim=1, keepdim=True),
    )
    return counterexample_at(
        "one sample: minimum of R_aug, not of R", problem, (torch.ones(1, n, dtype=torch.float64),)
    )


def identical_neurons(samples: int = 9) -> Counterexample:
    """From practice, second: two hidden neurons that the group swaps.

    The group leaves inputs and outputs alone, so augmentation changes nothing; in E both neurons are
    equal. The best pair of equal neurons is a saddle: neurons want to differ.

    >>> result = identical_neurons()
    >>> result.augmented.strict, result.equivariant.strict
    (False, True)
    """
    g = cyclic(2)
    t = torch.linspace(-2, 2, samples, dtype=torch.float64)
    x = torch.stack([t, torch.ones_like(t)], dim=1)
    y = torch.exp(-((t - 0.3) ** 2))[:, None] + 0.2 * t[:, None]
    network = declare_network([trivial(g, 2), permutation(g), trivial(g)], "tanh")
    problem = TrainingProblem(network, named_loss("half-squared"), x, y)
    rows = torch.tensor([[0.8, 0.5], [0.8, 0.5]], dtype=torch.float64)
    start = (rows, torch.full((1, 2), 0.4, dtype=torch.float64))
    return counterexample_at(
        "identical neurons: minimum of R_eqv, not of R_aug", problem, equivariant_minimum(problem, start)
    )


def _at_zero(name: str, form: Tensor) -> Counterexample:
    n = form.shape[0]
    problem = quadratic_problem(form, permutation(symmetric(n)))
    return counterexample_at(name, problem, (torch.zeros(1, n, dtype=torch.float64),))


def _weighted_square(prediction: Tensor, y: Tensor) -> Tensor:
    return (y * prediction.square()).sum(dim=-1) / 2
