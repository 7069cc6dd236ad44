"""From data of any kind, an action and how targets change, to the closed form of a linear model on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from symscope.data import (
    Action,
    LabelledData,
    MeasuredData,
    TargetAction,
    as_samples,
    parse_named_action,
    representation_of,
    target_of,
)
from symscope.errors import InputError
from symscope.groups import Representation, trivial
from symscope.linear._closed_flow import RegressionFlow, check_learning_rate, regression_flow
from symscope.linear._moments import second_moments
from symscope.linear._orbit_regression import OrbitRegression, orbit_regression
from symscope.linear._plain_descent import linear_weight
from symscope.linear.decay_rates import IrrepRates, irrep_rates, time_to_asymmetry
from symscope.linear.descent import mean_loss_rate
from symscope.linear.tracker import AsymmetryTracker
from symscope.linear.weight_parts import WeightSplit, weight_split
from symscope.numerics import check_memory, checked, seeded

VECTORS = (2, 3)  # numbers of a target that may be a vector


@checked
@final
@dataclass(frozen=True, eq=False)
class LinearTheory:
    """How a linear model `f(x) = x W` learns the symmetry of data; made by `linear_theory`.

    Samples and targets are rows of numbers here, whatever their shape; W is `[d, t]`.

    Attributes:
        data: The samples and their targets.
        action: What acts on samples.
        target_action: What acts on targets; None where they do not change.
        features: The action on samples as a representation on their d numbers.
        labels: The action on targets as a representation on their t numbers; trivial where they do not
            change.
        problem: `K_G` and `C_G`, the squared error over all orbits.
    """

    data: MeasuredData
    action: Action
    target_action: Action | None
    features: Representation
    labels: Representation
    problem: OrbitRegression

    def __repr__(self) -> str:
        slowest = min((one.slowest for one in self.rates if one.asymmetric), default=math.inf)
        return (
            f"LinearTheory({len(self.data)} samples of {self.data.name} and their orbits under "
            f"{self.action.group.name} {self.action.name}, slowest asymmetric rate {slowest:.3g})"
        )

    @cached_property
    def flow(self) -> RegressionFlow:
        """Its training in closed form: weights at any time, and where they end."""
        return regression_flow(self.problem.k, self.problem.c)

    @cached_property
    def rates(self) -> tuple[IrrepRates, ...]:
        """Which asymmetric parts of the weights decay, and how fast, irrep by irrep."""
        return irrep_rates(self.problem)

    def split(self, weights: Float[Tensor, "d t"]) -> WeightSplit:
        """The symmetric and the asymmetric part of weights."""
        return weight_split(weights, self.features, self.labels)

    def model(self, seed: int) -> nn.Sequential:
        """A linear network from samples to targets as they are shaped, in float64; [n] for one number.

        Args:
            seed: Seed for drawing its weights, `N(0, 1 / d)`.
        """
        d, shape = self.features.dim, self.data.target_shape
        layer = nn.Linear(d, self.labels.dim, bias=False, dtype=torch.float64)
        with torch.no_grad():
            weights = torch.randn(layer.weight.shape, generator=seeded(seed, 71), dtype=torch.float64)
            layer.weight.copy_(weights / d**0.5)
        return nn.Sequential(nn.Flatten(), layer, nn.Flatten(0) if shape == (1,) else nn.Unflatten(1, shape))

    def completed(self) -> tuple[Float64[Tensor, "p *sample"], Float64[Tensor, "p *target"]]:
        """All points of all orbits with their targets: what the theory's training sees."""
        x, y = self.data.x.double(), self.data.targets.double()
        check_memory("all points", 8 * x.numel() * self.action.group.order, "take fewer samples")
        points = self.action.orbit(x).flatten(0, 1)
        moved = torch.stack([self.labels.act(g, y) for g in self.action.group.elements], 1).flatten(0, 1)
        return points, moved[:, 0] if self.data.target_shape == (1,) else moved.unflatten(
            1, self.data.target_shape
        )

    def rate(self, learning_rate: float) -> float:
        """The learning rate for half the sum, from that of `nn.MSELoss()` on all points of all orbits.

        Raises:
            InputError: One at which gradient descent diverges.
        """
        points = len(self.data) * self.action.group.order
        one = mean_loss_rate(1.0, points=points, outputs=self.labels.dim)
        check_learning_rate(learning_rate, self.flow.stable_rate / one)
        return learning_rate * one

    def steps(self, weights: Float[Tensor, "d t"], level: float, learning_rate: float) -> float:
        """Steps of gradient flow after which a fraction of the asymmetric weights is left; infinite if never.

        Args:
            weights: Weights at the start, `[d, t]`; `model.weight.T`.
            level: The fraction, between 0 and 1.
            learning_rate: That of `nn.MSELoss()` on all points of all orbits.
        """
        asymmetric = self.split(weights.detach().double()).asymmetric
        time = time_to_asymmetry(self.flow, asymmetric, level)
        return time / self.rate(learning_rate)

    def tracker(
        self, module: nn.Module, x: Float[Tensor, "n *sample"] | None = None, **options: Any
    ) -> AsymmetryTracker:
        """A tracker for a network on this data, with its actions; of a linear one also parts of its weights.

        Args:
            module: Network from samples to targets in their shape.
            x: Samples to measure on; those of the data when not given.
            options: Further arguments of `AsymmetryTracker`.
        """
        try:
            weights = {linear_weight(module): (self.features, self.labels)}
        except InputError:  # not linear: its predictions alone
            weights = {}
        points = self.data.x if x is None else x
        return AsymmetryTracker(
            module, points, self.action, outputs=self.target_action, **{"weights": weights, **options}
        )

    def table(self) -> list[dict[str, Any]]:
        """Irreps as rows, slowest first, ready for `pandas.DataFrame`."""
        rows = [
            {
                "irrep": one.irrep,
                "copies": len(one.rates),
                "asymmetric weights": one.asymmetric,
                "slowest rate": one.slowest,
                "fastest rate": float(one.rates[-1]),
                "half-life": one.half_life,
            }
            for one in self.rates
        ]
        return sorted(rows, key=lambda row: float(row["slowest rate"]))


@checked
def linear_theory(
    data: Any, action: Action | str, *, target_action: TargetAction | None = None, task: str = "auto"
) -> LinearTheory:
    """How fast a linear model learns the symmetry of images, series, points, sets or graphs, in closed form.

    `W(t) = e^{-K_G t} W_0 + (I - e^{-K_G t}) K_G^+ C_G` for `1/2 sum_g |rho(g) y - f(g x)|^2` over whole
    orbits (Eq. 3 and 5), with samples and targets of any shape, and without matrices made by hand. Exact for
    actions that are orthogonal representations; others are refused.

    Args:
        data: `(X, y)`, a dataset, `MeasuredData` or whatever `data.as_samples` takes; y is [n], [n, t] or [n,
            h, w]. Classes become one-hot rows, which no element changes.
        action: An action, or words as `symscope.forecast` takes them: "C4", "C4 points", "S5 nodes".
        target_action: How targets change: "same", "vector", "image", an action, a representation or a
            function `(g, y) -> g y`; it must be given where they may be vectors or maps.
        task: "classification", "regression" or "auto", as for `data.as_samples`.

    Raises:
        InputError: Data without samples, with NaN or of unequal shapes; an action that is none, or is not
            orthogonal on these samples; one of another group on the targets; targets that may move without a
            word on it.

    >>> corners = torch.tensor([[[1.0, 2.0], [0.0, 1.0]], [[0.5, 0.0], [3.0, 1.0]]], dtype=torch.float64)
    >>> theory = linear_theory((corners, corners.sum((1, 2)).cos()), "C4 rotation")
    >>> [(row["irrep"], row["asymmetric weights"]) for row in theory.table()]
    [('k=2', 1), ('k=1, k=3', 2), ('k=0', 0)]
    """
    samples, _ = as_samples(data, task)
    measured = _one_hot(samples) if isinstance(samples, LabelledData) else samples
    shape, targets = tuple(measured.x.shape[1:]), measured.target_shape
    acting = parse_named_action(action, shape)[1] if isinstance(action, str) else action
    if target_action is None and not isinstance(samples, LabelledData):
        _check_said(targets)
    moved = target_of(target_action, acting, shape, targets)
    d, t = math.prod(shape), math.prod(targets)
    check_memory(f"second moments of {d} numbers", 6 * 8 * d * (d + t), "take smaller samples")
    features = _orthogonal(representation_of(acting, shape), "samples")
    labels = trivial(acting.group, t)
    if moved is not None:
        labels = _orthogonal(representation_of(moved, targets), "targets")
    moments = second_moments(measured.x.double().flatten(1), measured.targets.double())
    return LinearTheory(
        measured, acting, moved, features, labels, orbit_regression(moments, features, labels)
    )


def _orthogonal(rep: Representation, what: str) -> Representation:
    if rep.unitary:
        return rep
    raise InputError(
        f"expected an action that keeps lengths on the {what} (Assumption 5), {rep.name} does not; change "
        "their basis first, for example with groups.unitary_form."
    )


def _one_hot(samples: LabelledData) -> MeasuredData:
    """Classes as rows with one 1, in increasing order."""
    classes = samples.labels.unique(return_inverse=True)[1]
    rows = nn.functional.one_hot(classes).to(samples.x.dtype)
    return MeasuredData(samples.x, rows, samples.name, samples.source)


def _check_said(shape: Sequence[int]) -> None:
    """Refuses targets that may change with the samples where nobody has said whether they do."""
    if len(shape) > 1 or shape[0] in VECTORS:
        what = f"vectors of {shape[0]} numbers" if len(shape) == 1 else f"maps of shape {tuple(shape)}"
        word = "vector" if len(shape) == 1 else "image"
        raise InputError(
            f"targets are {what}: do they change with the samples, or not? Say target_action={word!r}, "
            "'same', an Action or a Representation."
        )
