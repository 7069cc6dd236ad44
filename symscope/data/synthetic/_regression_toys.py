"""The regression problems with a known symmetry on which linear models are studied.

Row-vector convention throughout: a model is `f(x) = x w`, a group element acts on a batch of features as
`X g` and, where targets move with it, as `Y g`. The experiments of "Implicitly Learned Invariance and
Equivariance in Linear Regression"; the distribution of its inputs is not said there, uniform is chosen here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_count, check_finite, check_memory, checked, seeded


@checked
@final
@dataclass(frozen=True, eq=False)
class RegressionToy:
    """A regression problem and the matrices that leave it alone.

    Attributes:
        features: One row per point, [n, d].
        targets: [n] where the group does not move them, [n, d] where it acts on them as on the features.
        group: The group's matrices, [order, d, d], identity first.
        elements: A name for each matrix.
        name: What a plot calls it.

    >>> toy = absolute_value(2, seed=0)
    >>> toy.group
    tensor([[[ 1.,  0.],
             [ 0.,  1.]],
    <BLANKLINE>
            [[ 1.,  0.],
             [ 0., -1.]]], dtype=torch.float64)
    """

    features: Shaped[Tensor, "*features"]
    targets: Shaped[Tensor, "*targets"]
    group: Shaped[Tensor, "*group"]
    elements: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or 0 in self.features.shape:
            raise InputError(
                f"{self.name}: expected features [n, d], got shape {tuple(self.features.shape)}."
            )
        n, d = self.features.shape
        if tuple(self.targets.shape) not in ((n,), (n, d)):
            raise InputError(
                f"{self.name}: expected targets [{n}] (invariant) or [{n}, {d}] (equivariant), "
                f"got shape {tuple(self.targets.shape)}."
            )
        if self.group.shape != (len(self.elements), d, d):
            raise InputError(
                f"{self.name}: expected {len(self.elements)} group matrices of {d} x {d}, one per name, "
                f"got shape {tuple(self.group.shape)}."
            )
        for what in ("features", "targets", "group"):
            check_finite(f"{self.name}, {what}", getattr(self, what))

    @property
    def equivariant(self) -> bool:
        """Whether the group acts on the targets; otherwise they are invariant."""
        return self.targets.ndim == 2

    def completed(self) -> RegressionToy:
        """The same problem with every orbit in full: `X g` and `y` (or `Y g`) for every g in turn.

        Assumption 1 of the paper; without it the data show the symmetry on average only.
        """
        features = torch.einsum("nd,gde->gne", self.features, self.group).flatten(0, 1)
        if self.equivariant:
            targets = torch.einsum("nd,gde->gne", self.targets, self.group).flatten(0, 1)
        else:
            targets = self.targets.repeat(len(self.group))
        return replace(self, features=features, targets=targets)

    def noisy(self, sigma: float, seed: int) -> RegressionToy:
        """The same problem with independent Gaussian noise on every target.

        One seed gives one draw, scaled by sigma, so that noise levels can be compared. Before `completed`, an
        orbit shares its noise; after it, every point has its own.

        Args:
            sigma: Standard deviation, not negative.
            seed: Random seed, a non-negative integer.

        Raises:
            InputError: A negative or infinite sigma.
        """
        if not (math.isfinite(sigma) and sigma >= 0):
            raise InputError(f"sigma: expected a finite standard deviation, not negative, got {sigma}.")
        draw = torch.randn(self.targets.shape, generator=seeded(seed, 1), dtype=self.targets.dtype)
        return replace(self, targets=self.targets + sigma * draw)


@checked
def absolute_value(points: int, seed: int) -> RegressionToy:
    """Learn |x| from the features (1, x): invariant under x -> -x (Example 3.1, Figures 1 and 3).

    Args:
        points: Number of points, x uniform in [-1, 1].
        seed: Random seed, a non-negative integer.

    Returns:
        Features [n, 2], targets [n], the group {I, diag(1, -1)}.

    Raises:
        InputError: Fewer than one point.

    >>> toy = absolute_value(3, seed=1)
    >>> bool((toy.targets == toy.features[:, 1].abs()).all())
    True
    """
    x = _uniform(points, 1, seed)[:, 0] * 2 - 1
    flip = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))
    group = torch.stack([torch.eye(2, dtype=torch.float64), flip])
    return RegressionToy(torch.stack([torch.ones_like(x), x], 1), x.abs(), group, ("e", "flip"), "|x|")


@checked
def coordinate_sum(points: int, seed: int) -> RegressionToy:
    """Learn x + y from the features (x, y): invariant under x <-> y (Figure 2, there with 20 points).

    Args:
        points: Number of points, uniform in [-1, 1]^2; their orbits are not completed.
        seed: Random seed, a non-negative integer.

    Returns:
        Features [n, 2], targets [n], the group {I, swap}.

    Raises:
        InputError: Fewer than one point.

    >>> coordinate_sum(20, seed=0).features.shape
    torch.Size([20, 2])
    """
    features = _uniform(points, 2, seed) * 2 - 1
    return RegressionToy(features, features.sum(1), _permutations(2), ("e", "(1 2)"), "x + y")


@checked
def swapped_squares(points: int, seed: int) -> RegressionToy:
    """Learn (y^2, x^2) from the features (x, y): equivariant under x <-> y (Appendix E, Figure 4).

    Args:
        points: Number of points, uniform in [-1, 1]^2.
        seed: Random seed, a non-negative integer.

    Returns:
        Features [n, 2], targets [n, 2], the group {I, swap}.

    Raises:
        InputError: Fewer than one point.

    >>> toy = swapped_squares(3, seed=0)
    >>> bool((toy.targets[:, 0] == toy.features[:, 1] ** 2).all())
    True
    """
    features = _uniform(points, 2, seed) * 2 - 1
    return RegressionToy(features, features.flip(1) ** 2, _permutations(2), ("e", "(1 2)"), "(y^2, x^2)")


@checked
def permuted_cube(points: int, seed: int) -> RegressionToy:
    """Points of the cube [0, 1]^3 under S3 (Table 1 and Figure 5, there with 100,000 points).

    The paper uses the inputs alone. The target here, `x y + y z + z x`, is invariant and not linear.

    Args:
        points: Number of points, uniform in the cube.
        seed: Random seed, a non-negative integer.

    Returns:
        Features [n, 3], targets [n], the six permutation matrices; `elements` names them by their cycles.

    Raises:
        InputError: Fewer than one point.

    >>> permuted_cube(2, seed=0).elements
    ('e', '(2 3)', '(1 2)', '(1 2 3)', '(1 3 2)', '(1 3)')
    """
    x = _uniform(points, 3, seed)
    targets = x[:, 0] * x[:, 1] + x[:, 1] * x[:, 2] + x[:, 2] * x[:, 0]
    names = ("e", "(2 3)", "(1 2)", "(1 2 3)", "(1 3 2)", "(1 3)")
    return RegressionToy(x, targets, _permutations(3), names, "xy + yz + zx")


def _uniform(points: int, dim: int, seed: int) -> Float[Tensor, "n d"]:
    points = check_count("points", points)
    check_memory(f"{points} points", 16 * points * dim, "draw fewer")
    return torch.rand(points, dim, generator=seeded(seed), dtype=torch.float64)


def _permutations(n: int) -> Float[Tensor, "order n n"]:
    """Row i of element p is the unit vector p(i): `x g` moves coordinate i to place p(i)."""
    return torch.stack([torch.eye(n, dtype=torch.float64)[list(p)] for p in itertools.permutations(range(n))])
