"""Networks that act on parameters: the paper's multilayer perceptron, and plain matrix multiplication."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from symscope.errors import InputError
from symscope.numerics import check_count, check_memory


@final
class MLPAction(nn.Module):
    """The paper's action network: group element, parameters and data in, new parameters out (Sec. 5.3).

    With `exact_identity` the network N enters as `theta + N(g, theta, X) - N(I, theta, X)`, so that the
    identity axiom holds as it stands; without it the axiom has to be learned, as in the paper. The paper does
    not name the activation; here it is tanh, because the action axiom takes second derivatives.

    Args:
        parameters: Number of parameters n it acts on.
        data: Number of data entries q it may look at; 0 for a data-independent action.
        size: Size of the group's matrices; n when None, as in the paper.
        hidden: Widths of the hidden layers.
        exact_identity: Whether to build the identity axiom in.

    Raises:
        InputError: A count that is not positive.

    >>> action = MLPAction(parameters=2, data=0)
    >>> action(torch.eye(2), torch.ones(5, 2), torch.ones(5, 0)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        parameters: int,
        data: int,
        size: int | None = None,
        hidden: Sequence[int] = (64, 64, 64),
        *,
        exact_identity: bool = False,
    ) -> None:
        super().__init__()
        self.size = check_count("parameters", parameters) if size is None else check_count("size", size)
        self.exact_identity = exact_identity
        check_count("data", data, 0)
        widths = [check_count("hidden", width) for width in hidden]
        if not widths:
            raise InputError("hidden: expected at least one width, got none.")
        inner = sum(a * b for a, b in itertools.pairwise([*widths, check_count("parameters", parameters)]))
        entries = widths[0] * (self.size**2 + parameters + data) + inner
        check_memory("the action network", 4 * entries, "use smaller sizes")
        # The first layer is split by input: the group element's part is the same for a whole batch.
        self.element = nn.Linear(self.size**2, hidden[0], bias=False)
        self.parameters_in = nn.Linear(parameters, hidden[0])
        self.data_in = nn.Linear(data, hidden[0], bias=False) if data else None
        pairs = zip(hidden, [*hidden[1:], parameters], strict=True)
        self.rest = nn.ModuleList(nn.Linear(here, there) for here, there in pairs)

    def forward(
        self, g: Float[Tensor, "*b p p"], theta: Float[Tensor, "b n"], data: Float[Tensor, "b q"]
    ) -> Float[Tensor, "b n"]:
        features = _affine(self.parameters_in, theta)
        if self.data_in is not None:
            features = features + _affine(self.data_in, data)
        value = self._hidden(features + _affine(self.element, g.flatten(-2)))
        if not self.exact_identity:
            return value
        identity = torch.eye(self.size, dtype=g.dtype, device=g.device)
        return theta + value - self._hidden(features + _affine(self.element, identity.flatten()))

    def jet(
        self,
        h: Float[Tensor, "k p p"],
        theta: Float[Tensor, "b n"],
        data: Float[Tensor, "b q"],
        directions: Float[Tensor, "k b n"] | None = None,
    ) -> tuple[Float[Tensor, "b n"], Float[Tensor, "k b n"], Float[Tensor, "k b n"] | None]:
        """`a(I, theta)`, the fields `V_h(theta)`, and `DV_h . direction`, all in one pass by the chain rule.

        The same numbers as nested Jacobian-vector products, several times faster.
        """
        identity = torch.eye(self.size, dtype=h.dtype, device=h.device)
        value = _affine(self.parameters_in, theta) + _affine(self.element, identity.flatten())
        if self.data_in is not None:
            value = value + _affine(self.data_in, data)
        along = _affine(self.element, h.flatten(-2))[:, None, :]
        turned = None if directions is None else _linear(self.parameters_in, directions)
        mixed: Tensor | None = None
        for layer in self.rest:
            value = torch.tanh(value)
            slope = 1 - value.square()
            if turned is not None:
                curved = -2 * value * along * turned
                mixed = _linear(layer, slope * (curved if mixed is None else mixed + curved))
                turned = _linear(layer, slope * turned)
            along = _linear(layer, slope * along)
            value = _affine(layer, value)
        return theta if self.exact_identity else value, along, mixed

    def _hidden(self, features: Tensor) -> Tensor:
        for layer in self.rest:
            features = _affine(layer, torch.tanh(features))
        return features


@final
class LinearAction(nn.Module):
    """`a(g, theta) = g theta`: nothing to train but the generators, which are then matrices of fields.

    >>> LinearAction()(2 * torch.eye(2), torch.ones(1, 2), torch.ones(1, 0))
    tensor([[2., 2.]])
    """

    def forward(
        self, g: Float[Tensor, "*b n n"], theta: Float[Tensor, "b n"], data: Float[Tensor, "b q"]
    ) -> Float[Tensor, "b n"]:
        return torch.einsum("...ij,...j->...i", g, theta)


@final
class _Jet(nn.Module):
    """`functional_call` calls `forward` alone; this makes it call `jet`."""

    def __init__(self, module: MLPAction) -> None:
        super().__init__()
        self.module = module

    def forward(self, *arguments: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        return self.module.jet(*arguments)  # type: ignore[arg-type]


@final
@dataclass(frozen=True)
class MLPCopy:
    """An `MLPAction` with weights of its own, one seed's of several; called like any action."""

    module: MLPAction
    weights: dict[str, Tensor]

    def __call__(self, g: Tensor, theta: Tensor, data: Tensor) -> Tensor:
        return functional_call(self.module, self.weights, (g, theta, data))

    def jet(
        self, h: Tensor, theta: Tensor, data: Tensor, directions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """`MLPAction.jet` with these weights."""
        weights = {f"module.{name}": weight for name, weight in self.weights.items()}
        return functional_call(_Jet(self.module), weights, (h, theta, data, directions))


def check_parameter_action(action: nn.Module, size: int, parameters: int, data: int) -> None:
    """Refuses a module that is not an action of `size x size` matrices on so many parameters and data.

    Raises:
        InputError: It fails on a batch, or gives another shape.
    """
    like = next(iter(action.parameters()), torch.ones(()))
    theta, numbers = like.new_ones(2, parameters), like.new_ones(2, data)
    try:
        with torch.no_grad():
            result = action(torch.eye(size).to(theta), theta, numbers)
    except Exception as error:  # whatever the user's forward raises
        raise InputError(
            f"the action must take (g [{size}, {size}], theta [b, {parameters}], data [b, {data}]); it "
            f"failed with {type(error).__name__}: {error}"
        ) from error
    if not isinstance(result, Tensor) or result.shape != theta.shape:
        got = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise InputError(
            f"the action must return new parameters of shape [b, {parameters}], got {got} for b = 2"
        )


def _affine(layer: Any, x: Tensor) -> Tensor:
    """`x W^T + b` by a plain product: nested forward derivatives of `nn.Linear` itself are twice as slow."""
    product = _linear(layer, x)
    return product if layer.bias is None else product + layer.bias


def _linear(layer: Any, x: Tensor) -> Tensor:
    product: Tensor = x @ layer.weight.mT
    return product
