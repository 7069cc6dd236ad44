"""Activations PyTorch has no module for, and layers a wide network may want."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name


@final
class Erf(nn.Module):
    """`a erf(b x) + c`; a = c = 1/2, b = 1/2.4020563531719796 is close to the logistic sigmoid.

    >>> Erf()(torch.tensor(0.0))
    tensor(0.)
    """

    def __init__(self, a: float = 1.0, b: float = 1.0, c: float = 0.0) -> None:
        super().__init__()
        self.a, self.b, self.c = a, b, c

    def forward(self, x: Tensor) -> Tensor:
        return self.a * torch.erf(self.b * x) + self.c


@final
class Sin(nn.Module):
    """`a sin(b x + c)`; `Sin(sqrt(2), sqrt(2), pi/4)` has the RBF kernel exp(-|x - y|^2) as its NNGP.

    >>> Sin(a=2.0, c=torch.pi / 2)(torch.tensor(0.0))
    tensor(2.)
    """

    def __init__(self, a: float = 1.0, b: float = 1.0, c: float = 0.0) -> None:
        super().__init__()
        self.a, self.b, self.c = a, b, c

    def forward(self, x: Tensor) -> Tensor:
        return self.a * torch.sin(self.b * x + self.c)


@final
class Cos(nn.Module):
    """`a cos(b x + c)`.

    >>> Cos()(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self, a: float = 1.0, b: float = 1.0, c: float = 0.0) -> None:
        super().__init__()
        self.a, self.b, self.c = a, b, c

    def forward(self, x: Tensor) -> Tensor:
        return self.a * torch.cos(self.b * x + self.c)


@final
class Abs(nn.Module):
    """`|x|`.

    >>> Abs()(torch.tensor(-2.0))
    tensor(2.)
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.abs()


@final
class PiecewiseLinear(nn.Module):
    """`below * min(x, 0) + above * max(x, 0)`; at zero the derivative is the mean of the two slopes.

    >>> PiecewiseLinear(-0.3, 0.8)(torch.tensor([-1.0, 1.0]))
    tensor([0.3000, 0.8000])
    """

    def __init__(self, below: float, above: float) -> None:
        super().__init__()
        self.below, self.above = below, above

    def forward(self, x: Tensor) -> Tensor:
        return (self.above + self.below) / 2 * x + (self.above - self.below) / 2 * x.abs()


@final
class Exp(nn.Module):
    """`a exp(b x)`.

    >>> Exp(a=3.0)(torch.tensor(0.0))
    tensor(3.)
    """

    def __init__(self, a: float = 1.0, b: float = 1.0) -> None:
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: Tensor) -> Tensor:
        return self.a * torch.exp(self.b * x)


@final
class Gaussian(nn.Module):
    """`a exp(-b x^2)`, b > 0.

    >>> Gaussian()(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self, a: float = 1.0, b: float = 1.0) -> None:
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: Tensor) -> Tensor:
        return self.a * torch.exp(-self.b * x**2)


@final
class Sign(nn.Module):
    """`sign(x)`; its derivative is zero, so only layers after it are trained.

    >>> Sign()(torch.tensor(-3.0))
    tensor(-1.)
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.sign()


@final
class Monomial(nn.Module):
    """`x^degree`, degree a whole number >= 1.

    >>> Monomial(2)(torch.tensor(-3.0))
    tensor(9.)
    """

    def __init__(self, degree: int) -> None:
        super().__init__()
        self.degree = degree

    def forward(self, x: Tensor) -> Tensor:
        return x**self.degree


@final
class Elementwise(nn.Module):
    """Any elementwise function of your own, integrated numerically in `infinite_width`.

    Args:
        function: Tensor to tensor of the same shape, each entry from its own entry, differentiable by
            autograd. A module-level function if the kernel is to be pickled.

    >>> Elementwise(torch.tanh)(torch.tensor(0.0))
    tensor(0.)
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


@final
class ChannelNorm(nn.Module):
    """LayerNorm over the channels of `[n, c, ...]` at every position alone, without trained scale and shift.

    >>> ChannelNorm(eps=0.0)(torch.tensor([[[1.0], [-1.0]]]) * 5).flatten()
    tensor([ 1., -1.])
    """

    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        last = x.movedim(1, -1)
        return F.layer_norm(last, last.shape[-1:], eps=self.eps).movedim(-1, 1)
