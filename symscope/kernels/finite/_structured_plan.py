"""How much a structured NTK costs in operations and bytes, and the sizes that keep it within its memory.

Operations are counted as in Novak, Sohl-Dickstein and Schoenholz 2022; bytes moved are added at a fixed rate,
because small products are bound by memory, not arithmetic (roofline model: Williams, Waterman, Patterson
2009). Memory goes in four equal parts to passes, to both sides of a product, and to its scratch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from symscope.errors import InputError
from symscope.kernels.finite._contraction import evaluations
from symscope.kernels.finite._structure import Layer
from symscope.networks import ForwardProfile
from symscope.numerics import byte_text

# operations a processor does in the time it takes to move a byte: 3 to 10 on those in use, in float64
OPERATIONS_PER_BYTE = 5.0


@final
@dataclass(frozen=True)
class Size:
    """The size of the matrix asked for.

    Attributes:
        batch: Number of matrices.
        n1: Number of inputs of the rows.
        n2: Number of inputs of the columns; None for a symmetric matrix.
        diagonal: Whether only its diagonal is wanted.
        count: Number of combinations of outputs.
        whole: Whether every pair of them is wanted, or the sum over equal ones.
    """

    batch: int
    n1: int
    n2: int | None
    diagonal: bool
    count: int
    whole: bool

    @property
    def pairs(self) -> int:
        """Pairs of inputs."""
        return self.batch * self.n1 * (1 if self.diagonal else self.n1 if self.n2 is None else self.n2)

    @property
    def output_pairs(self) -> int:
        """Pairs of outputs."""
        return self.count**2 if self.whole else self.count

    def evaluations(self, at_once: int) -> int:
        """Inputs to be evaluated if so many fit at once."""
        return self.n1 if self.diagonal else evaluations(self.batch, self.n1, self.n2, at_once)


@final
@dataclass(frozen=True)
class StructuredPlan:
    """The layers to compute, how, and how much of it at once.

    Attributes:
        layers: The layers.
        factored: Names of those kept as inputs and signals; gradients are formed of the others.
        whole: Whether every pair of outputs is wanted, or the sum over equal ones.
        outputs_at_once: Combinations of outputs at once.
        inputs_at_once: Inputs of which enough is kept at once.
        inputs_per_pass: Inputs in one forward and backward pass.
        scratch: Numbers that products of factors may take.
        cost: Estimated cost, in operations.
    """

    layers: tuple[Layer, ...]
    factored: frozenset[str]
    whole: bool
    outputs_at_once: int
    inputs_at_once: int
    inputs_per_pass: int
    scratch: int
    cost: float

    def pair_numbers(self, layer: Layer) -> int:
        """Numbers on the way to a layer's product of two inputs."""
        return pair_numbers(layer, self.outputs_at_once, self.whole)


def pair_numbers(layer: Layer, count: int, whole: bool) -> int:
    """Numbers on the way to a layer's product of two inputs, from its factors."""
    squares = layer.groups * layer.positions**2
    if not whole:
        return 3 * squares + 1
    if layer.positions == 1:
        return layer.groups * (2 * count**2 + 1) + count**2
    mixed = layer.groups * layer.positions * count * layer.rows
    return 2 * squares + 3 * mixed + (layer.groups + 1) * count**2


def gradient_cost(layer: Layer, size: Size, inputs: int, item: int) -> float:
    """Cost of forming a layer's gradients and multiplying them."""
    formed = size.count * layer.gradient
    operations = 2 * inputs * layer.positions * formed
    operations += 2 * size.pairs * size.output_pairs * layer.gradient
    moved = 3 * inputs * formed + size.pairs * (size.count**2 if size.whole else 1)
    return operations + OPERATIONS_PER_BYTE * item * moved


def factor_cost(layer: Layer, size: Size, inputs: int, item: int) -> float:
    """Cost of multiplying a layer's inputs and signals."""
    squares, count = layer.groups * layer.positions**2, size.count
    if not size.whole:
        operations = squares * (2 * layer.columns + 2 * count * layer.rows + 2)
    elif layer.positions == 1:
        operations = layer.groups * (2 * layer.columns + 2 * count**2 * (layer.rows + 1))
    else:
        operations = squares * (2 * layer.columns + 2 * count * layer.rows)
        operations += 2 * layer.groups * count**2 * layer.positions * layer.rows
    moved = size.pairs * 2 * pair_numbers(layer, count, size.whole)
    moved += 3 * inputs * kept_factors(layer, count)
    return size.pairs * operations + OPERATIONS_PER_BYTE * item * moved


def kept_factors(layer: Layer, count: int) -> int:
    """Numbers kept per input of a layer's inputs and signals."""
    return layer.groups * layer.positions * (layer.columns + count * layer.rows)


def structured_plan(
    layers: tuple[Layer, ...], probe: ForwardProfile, size: Size, weights: int, item: int, memory: int
) -> StructuredPlan:
    """Each layer in its cheaper form, or in the smaller one if that saves evaluations.

    Args:
        layers: Layers that `structured_layers` found.
        probe: Sizes that `forward_profile` measured.
        size: Size of the matrix.
        weights: Numbers in all weights, of which a copy may be made.
        item: Bytes of one number.
        memory: Bytes to work in.

    Returns:
        The plan.

    Raises:
        InputError: If the memory is too small for one pair of inputs.
    """
    inputs = size.evaluations(size.n1 + (size.n2 or 0))
    cheap, small = set(), set()
    for layer in layers:
        if layer.elementwise:
            continue
        if factor_cost(layer, size, inputs, item) < gradient_cost(layer, size, inputs, item):
            cheap.add(layer.name)
        if kept_factors(layer, size.count) < size.count * layer.gradient:
            small.add(layer.name)
    # one pass: activations, their gradients and signals, patches and a copy of them
    one_pass = 3 * probe.activations + 2 * sum(
        layer.groups * layer.positions * layer.columns for layer in layers
    )
    needed, plans = [], []
    for factored in (cheap, small):
        for count in [size.count] if size.whole else _halves(size.count):
            kept = _kept_numbers(layers, factored, count)
            pair = max((pair_numbers(m, count, size.whole) for m in layers if m.name in factored), default=0)
            tile = 3 * (count**2 if size.whole else 1)  # three tiles of the result are at work beside it
            needed.append(item * (weights + 4 * max(one_pass, kept, pair, 4 * tile)))
            if needed[-1] > memory:
                continue
            quarter = (memory // item - weights) // 4  # passes, both sides of a product, scratch
            at_once = min(2 * quarter // kept, math.isqrt(quarter // tile))
            cost = _cost(layers, factored, probe, size, at_once, count, item)
            sizes = (count, at_once, quarter // one_pass, quarter)
            plans.append(StructuredPlan(layers, frozenset(factored), size.whole, *sizes, cost))
    if plans:
        return min(plans, key=lambda how: how.cost)  # the first of equals: as many outputs as can be
    raise InputError(
        f"memory: structured needs at least {min(needed)} bytes ({byte_text(min(needed))}) for {weights} "
        f"weights and {probe.activations} activations per input, got {byte_text(memory)}."
    )


def _halves(count: int) -> Sequence[int]:
    result = [count]
    while result[-1] > 1:
        result.append(-(-result[-1] // 2))
    return result


def _kept_numbers(layers: tuple[Layer, ...], factored: set[str], count: int) -> int:
    return sum(
        kept_factors(layer, count) if layer.name in factored else count * layer.gradient for layer in layers
    )


def _cost(
    layers: tuple[Layer, ...],
    factored: set[str],
    probe: ForwardProfile,
    size: Size,
    at_once: int,
    outputs_at_once: int,
    item: int,
) -> float:
    inputs = size.evaluations(at_once)
    forward = -(-size.count // outputs_at_once)
    passes = inputs * (size.count + forward) * (probe.flops + OPERATIONS_PER_BYTE * item * probe.activations)
    return passes + sum(
        (factor_cost if layer.name in factored else gradient_cost)(layer, size, inputs, item)
        for layer in layers
    )


def contraction_cost(weights: int, probe: ForwardProfile, size: Size, rows_at_once: int, item: int) -> float:
    """Cost of forming Jacobian rows and multiplying them."""
    inputs = size.evaluations(rows_at_once // size.count)
    operations = inputs * (1 + 2 * size.count) * probe.flops
    if not size.diagonal:
        operations += 2 * size.pairs * size.output_pairs * weights
    moved = inputs * size.count * (3 * weights + probe.activations)
    return operations + OPERATIONS_PER_BYTE * item * moved


def products_cost(weights: int, probe: ForwardProfile, size: Size, item: int) -> float:
    """Cost of pushing every row through the network, with its own tangents in place of the weights."""
    pairs = size.pairs // 2 if size.n2 is None else size.pairs
    operations = pairs * size.count * 2 * probe.flops
    columns = size.batch * (size.n1 if size.n2 is None else size.n2)
    return operations + OPERATIONS_PER_BYTE * item * (
        3 * columns * size.count * weights + pairs * size.count * probe.activations
    )
