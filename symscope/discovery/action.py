"""Group actions on parameters as networks: their fields, brackets, and how far they miss the axioms.

An action takes a group element g (a matrix), parameters theta and data X, and gives new parameters
`a_X(g, theta)`. Its infinitesimal form for a generator h is the field

    V_h(theta) = D_g a_X|_(I, theta)(h),

a Jacobian-vector product: nothing here forms a Jacobian, and nothing but `integrated_defect` an exponential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import jvp, vmap

from symscope.errors import InputError

Action = Callable[[Tensor, Tensor, Tensor], Tensor]
"""`action(g [p, p] or [b, p, p], theta [b, n], data [b, q]) -> [b, n]`."""


@final
class MLPAction(nn.Module):
    """The paper's action network: group element, parameters and data in, new parameters out (Sec. 5.3).

    With `exact_identity` the network N enters as `theta + N(g, theta, X) - N(I, theta, X)`, so that the
    identity axiom holds as it stands; without it the axiom has to be learned, as in the paper. The paper does
    not name the activation; here it is tanh, because the action axiom takes second derivatives.

    Args:
        parameters: How many parameters it acts on, n.
        data: How many numbers describe the data it may look at, q; 0 for a data-independent action.
        size: Group elements are `size x size` matrices; n if not given, as in the paper.
        hidden: Widths of the hidden layers.
        exact_identity: Build the identity axiom in.

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
        self.size = parameters if size is None else size
        self.exact_identity = exact_identity
        if parameters < 1 or self.size < 1 or data < 0 or not hidden or min(hidden) < 1:
            raise InputError(
                "an action network needs at least one parameter, a group of at least 1 x 1 matrices, 0 or "
                f"more data and hidden widths of at least 1; got parameters={parameters}, size={self.size}, "
                f"data={data}, hidden={tuple(hidden)}."
            )
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
        moved = self._hidden(features + _affine(self.element, g.flatten(-2)))
        if not self.exact_identity:
            return moved
        identity = torch.eye(self.size, dtype=g.dtype, device=g.device)
        return theta + moved - self._hidden(features + _affine(self.element, identity.flatten()))

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


def identity_and_fields(
    action: Action,
    generators: Float[Tensor, "k p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> tuple[Float[Tensor, "b n"], Float[Tensor, "k b n"]]:
    """`a_X(I, theta)` and the fields `V_h(theta)` of all generators, in one forward pass (Sec. 3.2).

    Args:
        action: The action.
        generators: The generators h.
        theta: Parameters.
        data: What the action may look at, one row per row of theta.

    >>> h = torch.tensor([[[1.0, 0.0], [0.0, -1.0]]])
    >>> at_identity, fields = identity_and_fields(LinearAction(), h, torch.ones(1, 2), torch.ones(1, 0))
    >>> at_identity.tolist(), fields.tolist()
    ([[1.0, 1.0]], [[[1.0, -1.0]]])
    """
    identity = _identity(generators[0])

    def along(h: Tensor) -> tuple[Tensor, Tensor]:
        both = jvp(lambda g: action(g, theta, data), (identity,), (h,))
        return both[0], both[1]

    starts, fields = vmap(along)(generators)
    return starts[0], fields


def action_field(
    action: Action, h: Float[Tensor, "p p"], theta: Float[Tensor, "b n"], data: Float[Tensor, "b q"]
) -> Float[Tensor, "b n"]:
    """`V_h(theta) = D_g a_X|_(I, theta)(h)` of one generator.

    >>> action_field(LinearAction(), torch.eye(2), torch.ones(1, 2), torch.ones(1, 0)).tolist()
    [[1.0, 1.0]]
    """
    return jvp(lambda g: action(g, theta, data), (_identity(h),), (h,))[1]


def field_derivative(
    action: Action,
    h: Float[Tensor, "p p"],
    direction: Float[Tensor, "b n"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """`DV_h(theta) . direction`: a Jacobian-vector product of a Jacobian-vector product.

    >>> h = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> field_derivative(LinearAction(), h, torch.tensor([[3.0, 4.0]]), torch.ones(1, 2), torch.ones(1, 0))
    tensor([[ 4., -3.]])
    """
    return jvp(lambda point: action_field(action, h, point, data), (theta,), (direction,))[1]


def bracket_defect(
    action: Action,
    h1: Float[Tensor, "p p"],
    h2: Float[Tensor, "p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """How far a map is from a left action, infinitesimally: zero for every true action.

        DV_h2 . V_h1 - DV_h1 . V_h2 + V_[h1, h2]

    The first two terms are the Lie bracket of the fields; for a left action it is minus the field of
    `[h1, h2] = h1 h2 - h2 h1`.

    >>> h1, h2 = torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    >>> bracket_defect(LinearAction(), h1, h2, torch.tensor([[3.0, 4.0]]), torch.ones(1, 0)).tolist()
    [[0.0, 0.0]]
    """
    both = torch.stack([h1, h2])
    three = torch.cat([both, (h1 @ h2 - h2 @ h1)[None]])
    one, two, commutator = identity_and_fields(action, three, theta, data)[1]
    derivatives = vmap(lambda h, v: field_derivative(action, h, v, theta, data))(
        both, torch.stack([two, one])
    )
    return derivatives[1] - derivatives[0] + commutator


def eq7_defect(
    action: Action,
    h1: Float[Tensor, "p p"],
    h2: Float[Tensor, "p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """The paper's Eq. 7, which does not vanish on true actions: kept for comparison.

        DV_h2 . V_h1 - 1/2 V_[h1, h2]

    For `a(g, theta) = g theta` and h1 = h2 = h it leaves `h h theta`.

    >>> h = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    >>> eq7_defect(LinearAction(), h, h, torch.tensor([[3.0, 4.0]]), torch.ones(1, 0)).tolist()
    [[3.0, 4.0]]
    """
    one = action_field(action, h1, theta, data)
    bracket = action_field(action, h1 @ h2 - h2 @ h1, theta, data)
    return field_derivative(action, h2, one, theta, data) - bracket / 2


def integrated_defect(
    action: Action,
    h1: Float[Tensor, "p p"],
    h2: Float[Tensor, "p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """The action axiom on group elements, through exponentials (App. A.3).

        a_X(exp h2, a_X(exp h1, theta)) - a_X(exp h2 exp h1, theta)

    The appendix writes `exp(h1) X` in one place; an action is one for each fixed X, so X stays as it is.

    >>> h = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> integrated_defect(LinearAction(), h, -h, torch.ones(1, 2), torch.ones(1, 0)).abs().max() < 1e-6
    tensor(True)
    """
    one, two = torch.linalg.matrix_exp(h1), torch.linalg.matrix_exp(h2)
    return action(two, action(one, theta, data), data) - action(two @ one, theta, data)


def check_action(action: nn.Module, size: int, parameters: int, data: int) -> None:
    """Refuses a module that is not an action of `size x size` matrices on so many parameters and data.

    Raises:
        InputError: It fails on a batch, or gives another shape.
    """
    like = next(iter(action.parameters()), torch.ones(()))
    theta, numbers = like.new_ones(2, parameters), like.new_ones(2, data)
    try:
        with torch.no_grad():
            moved = action(torch.eye(size).to(theta), theta, numbers)
    except Exception as error:  # whatever the user's forward raises
        raise InputError(
            f"the action must take (g [{size}, {size}], theta [b, {parameters}], data [b, {data}]); it "
            f"failed with {type(error).__name__}: {error}"
        ) from error
    if not isinstance(moved, Tensor) or moved.shape != theta.shape:
        got = tuple(moved.shape) if isinstance(moved, Tensor) else type(moved).__name__
        raise InputError(
            f"the action must give new parameters of shape [b, {parameters}], got {got} for b = 2."
        )


def _affine(layer: Any, x: Tensor) -> Tensor:
    """`x W^T + b` by a plain product: nested forward derivatives of `nn.Linear` itself are twice as slow."""
    product = x @ layer.weight.mT
    return product if layer.bias is None else product + layer.bias


def _identity(h: Tensor) -> Tensor:
    return torch.eye(h.shape[-1], dtype=h.dtype, device=h.device)
