"""Least squares on a data set completed by a group: `K_G`, `C_G`, and its loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import Quadrature
from symscope.linear._moments import SecondMoments
from symscope.linear.group_averages import LinearSymmetry, dimension, group_mean, haar_mass, is_orthogonal
from symscope.numerics import check_finite, checked


@checked
@final
@dataclass(frozen=True, eq=False)
class OrbitRegression:
    """The squared error over all orbits, `1/2 sum_g |Y g' - X g W|^2`, as a function of the weights.

    Its gradient is `K_G W - C_G`. Make it with `orbit_regression`.

    Attributes:
        k: `K_G = sum_g g^T X^T X g`.
        c: `C_G = sum_g g^T X^T Y g'`; `R^T X^T y` for invariant labels.
        yy: `sum_g |Y g'|^2`.
        features: How the group acts on features.
        labels: How it acts on labels; None where labels are single numbers that do not move.
    """

    k: Float[Tensor, "d d"]
    c: Float[Tensor, "d *m"]
    yy: float
    features: LinearSymmetry
    labels: LinearSymmetry | None

    def loss(self, w: Float[Tensor, "d *m"]) -> Float[Tensor, ""]:
        """The squared error at given weights, half the sum over all points of all orbits.

        >>> import torch
        >>> x, y = torch.tensor([[1.0, 2.0]]), torch.tensor([2.0])
        >>> from symscope.linear import second_moments
        >>> swap = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
        >>> problem = orbit_regression(second_moments(x, y), swap)
        >>> problem.loss(torch.tensor([1.0, 0.0], dtype=torch.float64))  # (2 - 1)^2 / 2 + (2 - 2)^2 / 2
        tensor(0.5000, dtype=torch.float64)
        """
        return (w * (self.k @ w)).sum() / 2 - (w * self.c).sum() + self.yy / 2


@checked
def orbit_regression(
    moments: SecondMoments,
    features: LinearSymmetry,
    labels: LinearSymmetry | None = None,
    quadrature: Quadrature | None = None,
) -> OrbitRegression:
    """Regression on every orbit of a data set, of which the moments hold one point per orbit (Eq. 2, Eq. 4).

    Args:
        moments: Moments of the data, `second_moments(x, y)` or `streamed_moments(batches)`.
        features: How the group acts on features: a representation, or matrices acting as `X g`.
        labels: How it acts on labels `[n, m]`; None for labels `[n]`, which are then invariant.
        quadrature: Elements that stand for a compact group, where constraints cannot be solved.

    Returns:
        The problem: `K_G`, `C_G`, in sums over a finite group and Haar means over a compact one.

    Raises:
        InputError: Labels that do not fit their representation, or, for labels that move, a group that is not
            orthogonal (Assumption 5).

    >>> from symscope.data.synthetic import absolute_value
    >>> from symscope.linear import second_moments
    >>> toy = absolute_value(50, seed=0)
    >>> orbit_regression(second_moments(toy.features, toy.targets), toy.group).k.round(decimals=1)
    tensor([[100.,   0.],
            [  0.,  32.]], dtype=torch.float64)
    """
    check_labels(moments.xy, features, labels)
    order = haar_mass(features)
    k = order * group_mean(moments.xx, features, features, quadrature)
    columns = moments.xy.reshape(len(moments.xy), -1)
    c = order * group_mean(columns, features, labels, quadrature).reshape(moments.xy.shape)
    check_finite("the second moments of the orbits", k)
    return OrbitRegression((k + k.mT) / 2, c, order * moments.yy, features, labels)


def check_labels(xy: Tensor, features: LinearSymmetry, labels: LinearSymmetry | None) -> None:
    """Raise unless labels and their representation fit, and the group is orthogonal where labels move.

    >>> import torch
    >>> check_labels(torch.ones(2), torch.eye(2)[None], None)
    """
    if xy.ndim == 1 and labels is not None:
        raise InputError(
            f"expected labels [n, {dimension(labels)}], as their representation acts on, got single numbers "
            "[n]: leave out the representation of labels for invariant ones."
        )
    if xy.ndim == 2 and labels is None:
        raise InputError(
            f"expected a representation of the labels, which have {xy.shape[1]} components: "
            f"trivial(group, {xy.shape[1]}) where they do not move."
        )
    if labels is not None:
        for what, symmetry in (("features", features), ("labels", labels)):
            if not is_orthogonal(symmetry):
                raise InputError(
                    f"expected an orthogonal group for equivariant labels (Assumption 5); it is not on the "
                    f"{what}. Change their basis first, for example with groups.unitary_form."
                )
