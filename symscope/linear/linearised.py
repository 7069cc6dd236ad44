"""Linearised networks: what training does to weights and outputs, at any step, in closed form.

`f(x) = f_0(x) + J(x) (w - w_0)` is linear in the weights, so gradient descent on the squared loss is solved
by one eigendecomposition, of `J^T J` (weight space) or `J J^T` (the NTK), whichever is smaller:

    w_s - w_0 = J^T h_s(J J^T) (y - f_0(X)),      h_s(l) = (1 - (1 - rate l)^s) / l

and `h_s(l) = (1 - e^{-rate l s}) / l` for gradient flow at time `rate * s`. For a linear layer this is the
model itself and Eq. 3 and 5 of the paper; for a network it is Eq. 10, good while the weights move little.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.groups import Quadrature
from symscope.kernels import empirical_ntk_blocks, weights_kernel
from symscope.linear._weighted_elements import Symmetry
from symscope.linear.asymmetry import asymmetric_part
from symscope.networks import (
    FunctionalModule,
    Jacobian,
    SavedWeights,
    evaluation,
    forward_profile,
    functional_module,
)
from symscope.numerics import DEFAULT_MEMORY, checked

__all__ = [
    "LinearisedNetwork",
    "linearised_network",
    "predicted_asymmetry",
]


LOSSES = ("mean", "sum", "half sum")
CHUNK = 1024  # inputs that go through the network at once
LARGEST_GROUP = 2**23  # weights times steps pushed through it at once, 64 MB


@checked
@final
@dataclass(frozen=True, eq=False)
class LinearisedNetwork:
    """A network linearised at its initial weights, and how training on one data set moves it.

    Attributes:
        network: The network at its initial weights.
        x: Training inputs.
        rate: Learning rate for the loss `1/2 sum |f - y|^2`, whatever the loss was.
        values: Eigenvalues of the kernel, ascending; those of its null space exactly zero.
        vectors: Eigenvectors of the kernel, a column each.
        gap: What is to be learned, in the eigenbasis: `J^T (y - f_0)` in weight space, `y - f_0` otherwise.
        in_weight_space: Whether the kernel is `J^T J`, in weight space, and not the NTK.
        output_shape: Shape of the network's output for one input: (o,); () for [n], (h, w) for maps.
    """

    network: FunctionalModule
    x: Shaped[Tensor, "n *s"]
    rate: float
    values: Float[Tensor, " k"]
    vectors: Float[Tensor, "k k"]
    gap: Float[Tensor, " k"]
    in_weight_space: bool
    output_shape: tuple[int, ...]

    @property
    def largest_stable_factor(self) -> float:
        """By how much the learning rate could be multiplied before gradient descent diverges."""
        largest = float(self.values[-1])
        return 2 / (self.rate * largest) if largest > 0 else math.inf

    def displacement(self, step: float | int, *, flow: bool = False) -> Float[Tensor, " p"]:
        """The change of the weights, `w_s - w_0`, after some steps (`math.inf` for the end of training).

        Args:
            step: Number of steps; for gradient flow any number, at time `learning rate * step`.
            flow: Gradient flow instead of gradient descent.

        Raises:
            InputError: A negative step, or gradient descent with a learning rate at which it diverges.
        """
        share = self._learned_share(step, flow)
        known = self.values > 0
        # nothing is read out of the null space: there J^T (y - f_0), or J^T u, is zero
        filtered = torch.where(known, share / torch.where(known, self.values, 1.0), 0.0)
        solved = self.vectors @ (filtered * self.gap)
        if self.in_weight_space:
            return solved
        rows = solved.reshape(len(self.x), -1)
        return self.network.flatten(Jacobian(self.network, self.x).vjp(rows, CHUNK))

    def outputs(
        self, points: Shaped[Tensor, "m *s"], displacements: Float[Tensor, "t p"]
    ) -> Float[Tensor, "m t *o"]:
        """The linearised network's outputs, `f_0(x) + J(x) (w - w_0)` (Eq. 10), for several w at once."""
        points = points.to(self.gap.dtype) if points.is_floating_point() else points
        tangents = self.network.unflatten(displacements)
        start = _initial(self.network, points)
        moved = [Jacobian(self.network, some).batched_jvp(tangents) for some in points.split(CHUNK)]
        rows = start[:, None] + torch.cat(moved, dim=1).movedim(0, 1)
        return rows.reshape(*rows.shape[:2], *self.output_shape)

    def changes(self, displacement: Float[Tensor, " p"]) -> dict[str, Tensor]:
        """A change of the weights, by the names of the module's parameters."""
        wrapped = len(self.output_shape) != 1
        return {
            name.removeprefix("module.") if wrapped else name: change
            for name, change in self.network.unflatten(displacement).items()
        }

    def training(
        self, points: Shaped[Tensor, "m *s"], steps: Sequence[float | int], *, flow: bool = False
    ) -> Float[Tensor, "t m *o"]:
        """Outputs at some points along training, one page per step asked for.

        Raises:
            InputError: As `displacement`.
        """
        groups = self.displacements(steps, flow=flow)
        return torch.cat([self.outputs(points, some) for some in groups], dim=1).movedim(1, 0)

    def displacements(
        self, steps: Sequence[float | int], *, flow: bool = False
    ) -> Iterator[Float[Tensor, "t p"]]:
        """`displacement` of several steps, in groups that fit in memory."""
        many = max(1, LARGEST_GROUP // self.network.n_weights())
        for first in range(0, len(steps), many):
            yield torch.stack([self.displacement(s, flow=flow) for s in steps[first : first + many]])

    def _learned_share(self, step: float | int, flow: bool) -> Tensor:
        if not step >= 0:
            raise InputError(f"step: expected 0 or more, got {step}.")
        if flow:
            exponent = torch.where(self.values > 0, -self.rate * self.values * step, 0.0)
            return -torch.expm1(exponent)
        if self.largest_stable_factor <= 1:
            raise InputError(
                f"learning_rate: gradient descent diverges at this one; the largest stable is "
                f"{self.largest_stable_factor:.4g} times it. Lower it, or ask for flow=True."
            )
        shrink = self.rate * self.values
        slow = -torch.expm1(step * torch.log1p(-shrink.clamp(max=0.5)))  # no cancellation for slow directions
        slow = torch.where(self.values > 0, slow, 0.0)
        return torch.where(shrink < 0.5, slow, 1 - (1 - shrink) ** step)


@checked
def linearised_network(
    module: nn.Module,
    x: Shaped[Tensor, "n *s"],
    y: Float[Tensor, "*targets"],
    *,
    learning_rate: float,
    loss: str,
    rank_tolerance: float | None = None,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> LinearisedNetwork:
    """A network linearised at its weights, trained on `x, y` by full-batch gradient descent without momentum.

    Computed in float64, whatever the module's own dtype.

    Args:
        module: Any module from [n, *shape] to [n, o], [n] or [n, *output], such as maps [n, h, w],
            deterministic in eval mode; it is copied.
        x: Training inputs.
        y: Targets in the shape of outputs; [n] also for [n, 1].
        learning_rate: Learning rate of the optimiser.
        loss: "mean" for `nn.MSELoss()`, "sum" for its `reduction="sum"`, "half sum" for half of that.
        rank_tolerance: Eigenvalues below this fraction of the largest count as zero; None for k rounding
            units.
        params: Initial weights, a state dict or the path of one; None for the module's present weights.
        memory: Working memory of the kernel.

    Returns:
        The linearised network, ready to be asked for any step.

    Raises:
        InputError: If the module, data or numbers cannot be used, or the smaller kernel does not fit.

    >>> net = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(net.weight, 3.0)
    >>> x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [2.0]])
    >>> lin = linearised_network(net, x, y, learning_rate=0.1, loss="half sum")  # w = 1 + 2 (1 - 0.1 * 5)^s
    >>> [3.0 + lin.displacement(s).item() for s in (0, 1, 2)]
    [3.0, 2.0, 1.5]
    """
    if loss not in LOSSES:
        raise InputError(f"loss: expected one of {', '.join(map(repr, LOSSES))}, got {loss!r}.")
    if not (math.isfinite(learning_rate) and learning_rate > 0):
        raise InputError(f"learning_rate: expected a positive finite number, got {learning_rate}.")
    network = functional_module(module, params)
    points = x.detach().to(torch.float64) if x.is_floating_point() else x.detach()
    network.check_inputs(points)
    network = network.to(torch.float64)
    shape = _output_shape(network, points)
    if len(shape) != 1:
        network = functional_module(_RowOutputs(network.module))
    forward_profile(network, points)  # refuses what has no kernel
    gap = _targets(y, len(points), shape).to(points.device) - _initial(network, points)
    scale = {"half sum": 1.0, "sum": 2.0, "mean": 2.0 / gap.numel()}[loss]
    in_weight_space = network.n_weights() <= gap.numel()
    if in_weight_space:
        matrix = weights_kernel(network.module, points, memory=memory)
        pulled = network.flatten(Jacobian(network, points).vjp(gap, CHUNK))
    else:
        blocks = empirical_ntk_blocks(network.module, points, memory=memory)
        matrix = blocks.permute(0, 2, 1, 3).reshape(gap.numel(), gap.numel())
        pulled = gap.flatten()
    values, vectors = torch.linalg.eigh((matrix + matrix.mT) / 2)
    tolerance = len(values) * torch.finfo(values.dtype).eps if rank_tolerance is None else rank_tolerance
    if not 0 <= tolerance < 1:
        raise InputError(f"rank_tolerance: expected a fraction from 0 up to 1, got {rank_tolerance}.")
    values = torch.where(values > tolerance * values[-1].clamp(min=0), values, 0.0)
    return LinearisedNetwork(
        network, points, learning_rate * scale, values, vectors, vectors.mT @ pulled, in_weight_space, shape
    )


@checked
def predicted_asymmetry(
    network: LinearisedNetwork,
    x: Shaped[Tensor, "m *s"],
    symmetry: Symmetry,
    steps: Sequence[float | int],
    *,
    outputs: Symmetry | None = None,
    quadrature: Quadrature | None = None,
    flow: bool = False,
) -> Float[Tensor, " t"]:
    """The asymmetry loss of a linearised network along its training.

    `mean_x |f_s(x) - mean_g g^-1 f_s(g x)|` at every step s

    Args:
        network: Network from `linearised_network`.
        x: Points the asymmetry is measured on.
        symmetry: What acts on the inputs.
        steps: Steps of training, `math.inf` for its end.
        outputs: What acts on the outputs; nothing moves by default.
        quadrature: Elements that stand for a compact group.
        flow: Gradient flow instead of gradient descent.

    Returns:
        One number per step.

    Raises:
        InputError: As `LinearisedNetwork.displacement` and `asymmetric_part`.

    >>> from symscope.groups import cyclic, permutation
    >>> net = nn.Linear(2, 1, bias=False)
    >>> _ = nn.init.constant_(net.weight[:, :1], 3.0), nn.init.constant_(net.weight[:, 1:], 1.0)
    >>> x, y = torch.eye(2), torch.tensor([[0.0], [0.0]])  # w_k = (1, -1), K = I
    >>> lin = linearised_network(net, x, y, learning_rate=0.5, loss="half sum")
    >>> predicted_asymmetry(lin, x, permutation(cyclic(2)), [0, 1, 2]).tolist()
    [1.0, 0.5, 0.25]
    """
    points = x.to(torch.float64) if x.is_floating_point() else x
    result = []
    for some in network.displacements(steps, flow=flow):
        part = asymmetric_part(
            partial(network.outputs, displacements=some), points, symmetry, outputs, quadrature
        )
        result.append(torch.linalg.vector_norm(part.reshape(*part.shape[:2], -1), dim=2).mean(0))
    return torch.cat(result)


def _initial(network: FunctionalModule, x: Tensor) -> Tensor:
    weights = network.weights(network.dtype_for(x))
    with evaluation(), torch.no_grad():
        return torch.cat([network.outputs(weights, some) for some in x.split(CHUNK)])


@final
class _RowOutputs(nn.Module):
    """A module whose outputs of any shape are rows."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        return self.module(x).reshape(len(x), -1)


def _output_shape(network: FunctionalModule, x: Tensor) -> tuple[int, ...]:
    """Shape of the output for one input; (0,) where `forward_profile` will say what is wrong with it."""
    try:
        with evaluation(), torch.no_grad():
            out = network.outputs(network.weights(network.dtype_for(x)), x[:2])
    except Exception:  # whatever the user's forward raises
        return (0,)
    if not isinstance(out, Tensor) or out.ndim == 0 or len(out) != len(x[:2]):
        return (0,)
    return tuple(out.shape[1:])


def _targets(y: Tensor, n: int, shape: tuple[int, ...]) -> Tensor:
    given, expected = tuple(y.shape), (n, *shape)
    if given != expected and sorted((given, expected)) != [(n,), (n, 1)]:
        wanted = ", ".join(map(str, expected))
        raise InputError(f"y: expected targets [{wanted}], as the module gives outputs, got {given}.")
    if not bool(torch.isfinite(y).all()):
        raise InputError("y: expected finite targets, some are NaN or infinite.")
    return y.detach().to(torch.float64).reshape(n, -1)
