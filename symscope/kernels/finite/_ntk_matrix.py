"""The empirical NTK by the cheapest method that fits in memory, each part of the weights by its own.

"structured" uses layer inputs and signals wherever the network's layers allow it and multiplies the Jacobian
of the remaining weights alone; the other methods treat all weights alike. All give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels.finite._contraction import Plan, contraction, plan, products_matrix, row_norms
from symscope.kernels.finite._signals import StructureChangeError
from symscope.kernels.finite._structure import Layer, structured_layers
from symscope.kernels.finite._structured import remaining_network, structured_matrix, structured_norms
from symscope.kernels.finite._structured_plan import (
    Size,
    StructuredPlan,
    contraction_cost,
    products_cost,
    structured_plan,
)
from symscope.networks import ForwardProfile, FunctionalModule, evaluation

METHODS = ("auto", "structured", "contraction", "products")


@final
@dataclass(frozen=True)
class WeightParts:
    """The weights in two parts, each with its plan.

    Attributes:
        layers: Plan for the weights of layers with structure; None if the method does not use it.
        network: The network with the remaining weights trainable; None if there are none.
        rest: Plan for the remaining weights.
    """

    layers: StructuredPlan | None
    network: FunctionalModule | None
    rest: Plan | None

    @property
    def method(self) -> str:
        """The name of the method."""
        if self.layers is not None:
            return "structured"
        return "" if self.rest is None else self.rest.method


def check_method(method: str) -> None:
    """That there is such a method.

    Raises:
        InputError: If not.
    """
    if method not in METHODS:
        known = ", ".join(f'"{name}"' for name in METHODS)
        raise InputError(f"method: expected one of {known}, got {method!r}.")


def tangent_matrix(
    network: FunctionalModule,
    probe: ForwardProfile,
    x1: Shaped[Tensor, "b n1 *s"],
    x2: Shaped[Tensor, "b n2 *s"] | None,
    cotangents: Float[Tensor, "c o"],
    memory: int,
    method: str,
    whole: bool,
) -> Float[Tensor, "b n1 n2 *cc"]:
    """Inner products of gradients of combinations of outputs: all pairs, or their sum over equal ones.

    Args:
        network: The network.
        probe: Sizes that `forward_profile` measured.
        x1: Inputs.
        x2: Other inputs; None for x1 against itself.
        cotangents: Combinations of outputs.
        memory: Bytes to work in.
        method: Name of a method, one of `METHODS`.
        whole: Whether all pairs of combinations are wanted.

    Returns:
        The matrices.

    Raises:
        InputError: If the memory is too small.
    """
    size = Size(x1.shape[0], x1.shape[1], None if x2 is None else x2.shape[1], False, len(cotangents), whole)

    def general(how: Plan, rest: FunctionalModule) -> Tensor:
        compute = contraction if how.method == "contraction" else products_matrix
        return compute(how, rest, x1, x2, cotangents)

    return _sum_of_parts(
        partial(weight_parts, network, probe, x1.flatten(0, 1), size, cotangents, memory, method),
        lambda how: structured_matrix(how, network, x1, x2, cotangents),
        general,
    )


def tangent_norms(
    network: FunctionalModule,
    probe: ForwardProfile,
    x: Shaped[Tensor, "n *s"],
    cotangents: Float[Tensor, "c o"],
    memory: int,
    method: str,
) -> Float[Tensor, " n"]:
    """The diagonal of `tangent_matrix` without any other pair; arguments as there."""
    size = Size(1, len(x), None, True, len(cotangents), False)
    return _sum_of_parts(
        partial(weight_parts, network, probe, x, size, cotangents, memory, method),
        lambda how: structured_norms(how, network, x, cotangents),
        lambda how, rest: row_norms(how, rest, x, cotangents),
    )


def _sum_of_parts(
    choose: Callable[[frozenset[str]], WeightParts],
    structured: Callable[[StructuredPlan], Tensor],
    general: Callable[[Plan, FunctionalModule], Tensor],
) -> Tensor:
    """Both parts of the weights added; layers that turn out to follow the data move to the general part."""
    excluded: frozenset[str] = frozenset()
    while True:
        how = choose(excluded)
        try:
            total = None if how.layers is None else structured(how.layers)
        except StructureChangeError as change:
            excluded |= change.names
            continue
        if how.network is None or how.rest is None:
            assert total is not None  # every weight is in one of the parts
            return total
        result = general(how.rest, how.network)
        return result if total is None else total.add_(result)


def weight_parts(
    network: FunctionalModule,
    probe: ForwardProfile,
    x: Shaped[Tensor, "n *s"],
    size: Size,
    cotangents: Float[Tensor, "c o"],
    memory: int,
    method: str,
    excluded: frozenset[str] = frozenset(),
) -> WeightParts:
    """Which weights are treated how: by the method asked for, or by the one that is estimated to cost least.

    Args:
        network: The network.
        probe: Sizes that `forward_profile` measured.
        x: Inputs, of which two are tried.
        size: Size of the matrix.
        cotangents: Combinations of outputs.
        memory: Bytes to work in.
        method: Name of a method, one of `METHODS`.
        excluded: Layers to be treated like any other weights.

    Returns:
        The parts.

    Raises:
        InputError: If the memory is too small for the method, or for all of them.
    """
    layers: tuple[Layer, ...] = ()
    if method in ("auto", "structured"):
        with evaluation():
            layers = structured_layers(network, x, excluded)
    if not layers:
        general = "contraction" if method == "structured" else method
        return WeightParts(None, network, plan(network, probe, cotangents, memory, general, size.whole))
    try:
        structured, its_cost = _structured_parts(network, probe, layers, size, cotangents, memory)
    except InputError:
        if method == "structured":
            raise
        return WeightParts(None, network, plan(network, probe, cotangents, memory, "auto", size.whole))
    if method == "structured":
        return structured
    try:
        general_plan = plan(network, probe, cotangents, memory, "auto", size.whole)
    except InputError:  # only the structured method fits
        return structured
    if its_cost <= _cost(network, general_plan, probe, size, cotangents.dtype.itemsize):
        return structured
    return WeightParts(None, network, general_plan)


def _structured_parts(
    network: FunctionalModule,
    probe: ForwardProfile,
    layers: tuple[Layer, ...],
    size: Size,
    cotangents: Tensor,
    memory: int,
) -> tuple[WeightParts, float]:
    item = cotangents.dtype.itemsize
    how = structured_plan(layers, probe, size, network.n_weights(), item, memory)
    rest = remaining_network(network, layers)
    if rest is None:
        return WeightParts(how, None, None), how.cost
    general = plan(rest, probe, cotangents, memory, "auto", size.whole)
    return WeightParts(how, rest, general), how.cost + _cost(rest, general, probe, size, item)


def _cost(network: FunctionalModule, how: Plan, probe: ForwardProfile, size: Size, item: int) -> float:
    weights = network.n_weights()
    if how.method == "contraction" or size.diagonal:
        return contraction_cost(weights, probe, size, how.rows_at_once, item)
    return products_cost(weights, probe, size, item)
