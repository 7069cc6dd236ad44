"""Networks declared by representations: X_0 -> X_1 -> ... -> X_L, linear layers with fixed steps between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import final

import torch
from torch import Tensor

from symscope.dynamics.layer_steps import LayerStep, pointwise
from symscope.errors import InputError
from symscope.groups import EquivariantMaps, Group, Representation, equivariant_maps
from symscope.numerics import checked, explained

LayerWeights = tuple[Tensor, ...]


@checked
@final
@dataclass(frozen=True, eq=False, repr=False)
class DeclaredNetwork:
    """An MLP `x_{i+1} = sigma_i(A_i x_i)` (Eq. 1) whose spaces carry representations of one group.

    It holds no weights: they are a tuple of matrices `A_i [..., dim X_{i+1}, dim X_i]`, where leading axes
    count independent runs. Make one with `declare_network`.

    Attributes:
        sources: What each layer takes.
        targets: What each layer gives, before its steps.
        steps: The steps sigma_i after each layer.
        output: The space of predictions, after the last steps.
    """

    sources: tuple[Representation, ...]
    targets: tuple[Representation, ...]
    steps: tuple[tuple[LayerStep, ...], ...]
    output: Representation

    def __repr__(self) -> str:
        words = [self.sources[0].name]
        for target, steps in zip(self.targets, self.steps, strict=True):
            words.append(" ".join([target.name, *(f"[{step.name}]" for step in steps)]))
        return f"{' -> '.join(words)} of {self.group.name}"

    @property
    def group(self) -> Group:
        """The group that acts on every space."""
        return self.sources[0].group

    @property
    def depth(self) -> int:
        """Number of layers L."""
        return len(self.targets)

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The shape of each layer's matrix."""
        return tuple((w.dim, v.dim) for v, w in zip(self.sources, self.targets, strict=True))

    @property
    def parameters(self) -> int:
        """The dimension of L, all layers."""
        return sum(rows * columns for rows, columns in self.shapes)

    @cached_property
    def maps(self) -> tuple[EquivariantMaps, ...]:
        """Hom_G of each layer, found from generators once; equal pairs of spaces share one."""
        known: dict[tuple[int, int], EquivariantMaps] = {}
        for v, w in zip(self.sources, self.targets, strict=True):
            if (id(v), id(w)) not in known:
                known[id(v), id(w)] = equivariant_maps(v, w)
        return tuple(known[id(v), id(w)] for v, w in zip(self.sources, self.targets, strict=True))

    @property
    def equivariant_dimension(self) -> int:
        """The dimension of E."""
        return sum(maps.dimension for maps in self.maps)

    def forward(
        self,
        weights: Sequence[Tensor],
        x: Tensor,
        product: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> Tensor:
        """The predictions Phi_A(x), Eq. 1.

        Args:
            weights: `A_i [*runs, dim X_{i+1}, dim X_i]`.
            x: Samples `[..., n, dim X_0]`; leading axes broadcast with those of the weights.
            product: `(x, A) -> x A^T`, to choose how products are computed; `x @ A.mT` by default.

        Returns:
            `[..., *runs, n, dim X_L]`.
        """
        check_layer_weights(self, weights)
        check_alike(weights, x)
        if x.ndim < 2 or x.shape[-1] != self.sources[0].dim:
            raise InputError(
                f"expected samples [..., n, {self.sources[0].dim}] in {self.sources[0]!r}, got shape "
                f"{tuple(x.shape)}."
            )
        for i, weight in enumerate(weights):
            x = x @ weight.mT if product is None else product(x, weight)
            x = self.after(i, x)
        return x

    def after(self, layer: int, x: Tensor) -> Tensor:
        """The steps sigma_i after one layer, applied to `[..., n, dim of targets[layer]]`."""
        space = self.targets[layer]
        for step in self.steps[layer]:
            x = step.function(x, space)
            space = step.target(space)
        return x


@explained
def declare_network(
    spaces: Sequence[Representation],
    steps: str | LayerStep | Sequence[str | LayerStep | Sequence[str | LayerStep]] = "tanh",
) -> DeclaredNetwork:
    """A network from its spaces X_0, ..., X_L and what stands after each layer.

    Args:
        spaces: Unitary representations of one group: `[v, 32 * v, trivial(g, 10)]`.
        steps: One step (or its name, see `pointwise`) after every layer but the last; or one entry per layer,
            each a step, a name, or a sequence of them. A step that changes the space, such as pooling,
            changes what the next layer takes.

    Raises:
        InputError: Fewer than two spaces, different groups, a representation that is not unitary or not
            real, or a wrong number of steps.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> g = cyclic(5); v = permutation(g)
    >>> net = declare_network([v, 3 * v, trivial(g, 2)], "leaky_relu"); net
    V5 -> 3 V5 [leaky_relu] -> 2 1 of C5
    >>> net.parameters, net.equivariant_dimension
    (105, 21)
    """
    if len(spaces) < 2:
        raise InputError(
            f"expected at least two spaces, an input and an output, got {len(spaces)}: declare([x, y])."
        )
    for i, space in enumerate(spaces):
        check_space(f"X_{i}", space, spaces[0])
    chosen = _per_layer(steps, len(spaces) - 1)
    sources = [spaces[0]]
    for target, after in zip(spaces[1:], chosen, strict=True):
        space = target
        for step in after:
            space = step.target(space)
        sources.append(space)
    return DeclaredNetwork(tuple(sources[:-1]), tuple(spaces[1:]), chosen, sources[-1])


def check_space(name: str, space: Representation, first: Representation) -> None:
    """Raise unless a space is a real unitary representation of the group of the first."""
    if space.group != first.group:
        raise InputError(
            f"expected representations of one group; {name} is {space!r}, X_0 is {first!r}: write "
            "every space as a representation of the same group."
        )
    if not space.unitary:
        raise InputError(
            f"expected unitary representations (Assumption 1); {name} = {space!r} is not: change its basis "
            "with groups.unitary_form(rep), which gives (unitary, S): declare unitary, and write x as S x."
        )
    probe = space.act(first.group.identity, torch.zeros(1, space.dim, dtype=torch.float64))
    if probe.is_complex():
        raise InputError(
            f"expected real representations; {name} = {space!r} is complex: use it together with its "
            "conjugate in a real basis."
        )


@explained
def check_layer_weights(network: DeclaredNetwork, weights: Sequence[Tensor]) -> None:
    """Raise unless there is one matrix of the right shape per layer, with equal leading axes."""
    if len(weights) != network.depth:
        raise InputError(
            f"expected {network.depth} matrices, one per layer of {network!r}, got {len(weights)}."
        )
    for i, (weight, shape) in enumerate(zip(weights, network.shapes, strict=True)):
        if weight.ndim < 2 or tuple(weight.shape[-2:]) != shape:
            raise InputError(
                f"expected layer {i} of shape [..., {shape[0]}, {shape[1]}] for maps from "
                f"{network.sources[i]!r} to {network.targets[i]!r}, got {tuple(weight.shape)}."
            )
    for i, (one, other) in enumerate(pairwise(weights)):
        if one.shape[:-2] != other.shape[:-2]:
            raise InputError(
                f"expected the same leading axes (runs) in every layer; layers {i} and {i + 1} have "
                f"{tuple(one.shape[:-2])} and {tuple(other.shape[:-2])}."
            )


@explained
def check_alike(weights: Sequence[Tensor], x: Tensor) -> None:
    """Raise unless layers and samples have one dtype and are on one device."""
    for i, weight in enumerate(weights):
        if weight.dtype != x.dtype or weight.device != x.device:
            raise InputError(
                f"expected layers and samples of one dtype on one device; layer {i} is {weight.dtype} on "
                f"{weight.device}, samples are {x.dtype} on {x.device}: convert one, as in "
                "[w.to(x) for w in weights]."
            )


@explained
def check_finite_layers(weights: Sequence[Tensor]) -> None:
    """Raise unless every number of every layer is finite."""
    for i, weight in enumerate(weights):
        if not bool(weight.isfinite().all()):
            raise InputError(f"expected finite layers; layer {i} has NaN or infinity: start from others.")


def _per_layer(steps: object, depth: int) -> tuple[tuple[LayerStep, ...], ...]:
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        return (*((_step(steps),),) * (depth - 1), ())
    if len(steps) != depth:
        raise InputError(
            f"expected {depth} entries of steps, one per layer, got {len(steps)}: give () for a layer "
            "without any."
        )
    return tuple(
        tuple(_step(step) for step in entry)
        if isinstance(entry, Sequence) and not isinstance(entry, str)
        else (_step(entry),)
        for entry in steps
    )


def _step(step: object) -> LayerStep:
    if isinstance(step, str):
        return pointwise(step)
    if not isinstance(step, LayerStep):
        called = getattr(step, "__name__", repr(step))
        raise InputError(
            f"expected a step or the name of one, got {called}: wrap a function of tensors, as in "
            "pointwise(torch.tanh)."
        )
    return step
