"""Group actions on parameters as networks: their fields, brackets, and how far they miss the axioms.

An action takes a group element g (a matrix), parameters theta and data X, and returns new parameters
`a_X(g, theta)`. Its infinitesimal form for a generator h is the field

    V_h(theta) = D_g a_X|_(I, theta)(h),

a Jacobian-vector product: nothing here forms a Jacobian, and nothing but `integrated_defect` an exponential.
Any differentiable action will do; for the paper's network the products are written out by the chain rule.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.func import jvp, vmap

from symscope.discovery.learned._action_networks import MLPAction, MLPCopy
from symscope.numerics import checked

ParameterAction = Callable[[Tensor, Tensor, Tensor], Tensor]
"""`action(g [p, p] or [b, p, p], theta [b, n], data [b, q]) -> [b, n]`."""


def action_data(
    theta: Float[Tensor, "b n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"], dependent: bool
) -> Float[Tensor, "b q"]:
    """What an action is shown of the data: inputs and targets of each batch as one row, or no columns.

    >>> action_data(torch.zeros(5, 2), torch.zeros(5, 4, 3), torch.zeros(5, 4, 2), True).shape
    torch.Size([5, 20])
    """
    if not dependent:
        return theta[:, :0]
    return torch.cat([x.flatten(1).to(theta), y.flatten(1).to(theta)], 1)


def identity_and_fields(
    action: ParameterAction,
    generators: Float[Tensor, "k p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> tuple[Float[Tensor, "b n"], Float[Tensor, "k b n"]]:
    """`a_X(I, theta)` and the fields `V_h(theta)` of all generators, in one forward pass (Sec. 3.2).

    Args:
        action: Action on parameters.
        generators: Generators h.
        theta: Parameters, one vector a row.
        data: Numbers the action may look at, one row per row of theta.

    >>> from symscope.discovery.learned import LinearAction
    >>> h = torch.tensor([[[1.0, 0.0], [0.0, -1.0]]])
    >>> at_identity, fields = identity_and_fields(LinearAction(), h, torch.ones(1, 2), torch.ones(1, 0))
    >>> at_identity.tolist(), fields.tolist()
    ([[1.0, 1.0]], [[[1.0, -1.0]]])
    """
    if isinstance(action, MLPAction | MLPCopy):
        start, fields, _ = action.jet(generators, theta, data)
        return start, fields
    identity = _identity(generators[0])

    def along(h: Tensor) -> tuple[Tensor, Tensor]:
        both = jvp(lambda g: action(g, theta, data), (identity,), (h,))
        return both[0], both[1]

    starts, fields = vmap(along)(generators)
    return starts[0], fields


@checked
def action_field(
    action: ParameterAction, h: Float[Tensor, "p p"], theta: Float[Tensor, "b n"], data: Float[Tensor, "b q"]
) -> Float[Tensor, "b n"]:
    """`V_h(theta) = D_g a_X|_(I, theta)(h)` of one generator.

    >>> from symscope.discovery.learned import LinearAction
    >>> action_field(LinearAction(), torch.eye(2), torch.ones(1, 2), torch.ones(1, 0)).tolist()
    [[1.0, 1.0]]
    """
    return identity_and_fields(action, h[None], theta, data)[1][0]


@checked
def field_derivative(
    action: ParameterAction,
    h: Float[Tensor, "p p"],
    direction: Float[Tensor, "b n"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """`DV_h(theta) . direction`: a Jacobian-vector product of a Jacobian-vector product.

    >>> from symscope.discovery.learned import LinearAction
    >>> h = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> field_derivative(LinearAction(), h, torch.tensor([[3.0, 4.0]]), torch.ones(1, 2), torch.ones(1, 0))
    tensor([[ 4., -3.]])
    """
    if isinstance(action, MLPAction | MLPCopy):
        mixed = action.jet(h[None], theta, data, direction[None])[2]
        assert mixed is not None
        return mixed[0]
    return jvp(lambda point: action_field(action, h, point, data), (theta,), (direction,))[1]


@checked
def bracket_defect(
    action: ParameterAction,
    h1: Float[Tensor, "p p"],
    h2: Float[Tensor, "p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """How far a map is from a left action, infinitesimally: zero for every true action.

        DV_h2 . V_h1 - DV_h1 . V_h2 + V_[h1, h2]

    The first two terms are the Lie bracket of the fields; for a left action it is minus the field of
    `[h1, h2] = h1 h2 - h2 h1`.

    >>> from symscope.discovery.learned import LinearAction
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


@checked
def eq7_defect(
    action: ParameterAction,
    h1: Float[Tensor, "p p"],
    h2: Float[Tensor, "p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """The paper's Eq. 7, which does not vanish on true actions: kept for comparison.

        DV_h2 . V_h1 - 1/2 V_[h1, h2]

    For `a(g, theta) = g theta` and h1 = h2 = h it leaves `h h theta`.

    >>> from symscope.discovery.learned import LinearAction
    >>> h = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    >>> eq7_defect(LinearAction(), h, h, torch.tensor([[3.0, 4.0]]), torch.ones(1, 0)).tolist()
    [[3.0, 4.0]]
    """
    one = action_field(action, h1, theta, data)
    bracket = action_field(action, h1 @ h2 - h2 @ h1, theta, data)
    return field_derivative(action, h2, one, theta, data) - bracket / 2


@checked
def integrated_defect(
    action: ParameterAction,
    h1: Float[Tensor, "p p"],
    h2: Float[Tensor, "p p"],
    theta: Float[Tensor, "b n"],
    data: Float[Tensor, "b q"],
) -> Float[Tensor, "b n"]:
    """The action axiom on group elements, through exponentials (App. A.3).

        a_X(exp h2, a_X(exp h1, theta)) - a_X(exp h2 exp h1, theta)

    The appendix writes `exp(h1) X` in one place; an action is one for each fixed X, so X stays as it is.

    >>> from symscope.discovery.learned import LinearAction
    >>> h = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    >>> integrated_defect(LinearAction(), h, -h, torch.ones(1, 2), torch.ones(1, 0)).abs().max() < 1e-6
    tensor(True)
    """
    one, two = torch.linalg.matrix_exp(h1), torch.linalg.matrix_exp(h2)
    return action(two, action(one, theta, data), data) - action(two @ one, theta, data)


def _identity(h: Tensor) -> Tensor:
    return torch.eye(h.shape[-1], dtype=h.dtype, device=h.device)
