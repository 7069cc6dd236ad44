"""Kernels of a wide network: covariances carried through its operations, a cache-sized piece at a time.

A layer's units are independent Gaussians in the limit of infinite width, so all that is left of them is the
covariance K of one unit over pairs of inputs (Lee et al. 2018 for dense networks; Novak et al. 2019 and
Garriga-Alonso et al. 2019 for convolutions, where pairs of positions are needed too). The tangent kernel
Theta follows it layer by layer (Jacot et al. 2018, Theorem 1; Arora et al. 2019 for convolutions):

    layer with weights   K <- w_var A(K) + b_var        Theta <- w_var A(Theta) + w_rate A(K) + b_rate
    activation phi       K <- E[phi(u) phi(v)]          Theta <- Theta E[phi'(u) phi'(v)]

with A the average over fan-in, and (u, v) Gaussian with the covariance of the two inputs. Each activation
needs the variances of single inputs as well; these are propagated once per input (`_sides`), exactly, and
shared by all its pairs. Which pairs of positions a node needs follows from what comes after it (`Extent`):
flattening needs equal positions only, which is why it is cheaper than pooling by the number of positions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.kernels._threads import each
from symscope.kernels.infinite import _operation_steps as layers
from symscope.kernels.infinite._fused._chain_blocks import conv_blocks, dense_blocks, usable_chain
from symscope.kernels.infinite._fused._chains import Chain, chain_of
from symscope.kernels.infinite._fused._launch import PANEL
from symscope.kernels.infinite._operation_steps import data_covariance, patch_covariance
from symscope.kernels.infinite._operations import Activate, Conv, Dense, Node, Normalise, Sum
from symscope.kernels.infinite._sides import InputSide, covariance_count, piece_size, side, side_count
from symscope.kernels.infinite._wide_network import Extent, WideNetwork, needed_extent

TEMPORARIES = 6  # tensors of that size alive at once, measured


class Kernels(NamedTuple):
    """A covariance and, if wanted, the tangent kernel that goes with it (None: zero, or not wanted)."""

    nngp: Tensor
    ntk: Tensor | None

    def map(self, change: Callable[[Tensor], Tensor]) -> Kernels:
        """The same change to both."""
        return Kernels(change(self.nngp), None if self.ntk is None else change(self.ntk))


@torch.no_grad()
def kernel_blocks(
    network: WideNetwork,
    x1: Float[Tensor, "b n1 *s"],
    x2: Float[Tensor, "b n2 *s"] | None,
    ntk: bool,
    nngp: bool = True,
) -> tuple[Float[Tensor, "b n1 n2"] | None, Float[Tensor, "b n1 n2"] | None]:
    """NNGP and NTK, where wanted, of many small Grams at once, in one propagation.

    Networks that are chains of layers run in one pass of compiled code (the package `fused`), on a GPU
    always, on a CPU when there is enough to do. Otherwise the work is cut into pieces that fit a cache. Of
    inputs with themselves one half is computed; the diagonal comes from the exact recursion of variances.

    Args:
        network: The wide network.
        x1: First inputs.
        x2: Second inputs; None for x1 itself.
        ntk: Whether the tangent kernel is wanted.
        nngp: Whether the NNGP is wanted.

    Returns:
        The two kernels, None where not wanted (the NNGP may come all the same).
    """
    shapes = network.shapes(tuple(x1.shape[2:]))
    one = side(network, x1)
    two = one if x2 is None else side(network, x2)
    chain = usable_chain(network, x1, ntk, x1.shape[1] if x2 is None else x2.shape[1])
    if chain is not None and chain.readout == "dense":
        return dense_blocks(chain, x1, x2, one, two, nngp, ntk)
    if chain is not None:
        return _chained(network, shapes, chain, x1, x2, one, two, ntk)
    return _piecewise(network, shapes, x1, x2, one, two, ntk)


def working_numbers(
    network: WideNetwork, features: tuple[int, ...], points: int, device: torch.device, dtype: torch.dtype
) -> int:
    """Numbers held while a block is computed, besides inputs and results: a piece, and its points' sides.

    >>> from symscope.kernels.infinite import Dense, Input, LayerWeights
    >>> dense = Node(Dense(2, 1, LayerWeights(1.0, 0.0, 1.0, 0.0)), (0,), "linear")
    >>> net = WideNetwork((Node(Input(), (), "x"), dense), "linear")
    >>> cpu = torch.device("cpu")
    >>> a, b = (working_numbers(net, (2,), n, cpu, torch.float64) for n in (0, 10))
    >>> a == torch.get_num_threads() * TEMPORARIES * piece_size(cpu), b - a
    (True, 20)
    """
    per_point, fixed = _working(network, features, device.type, dtype)
    cores = torch.get_num_threads() if device.type == "cpu" else 1
    return points * per_point + cores * fixed


@cache
def _working(
    network: WideNetwork, features: tuple[int, ...], device: str, dtype: torch.dtype
) -> tuple[int, int]:
    """Numbers per point and per core, see `working_numbers`; asked for before every Gram, so kept."""
    shapes = network.shapes(features)
    fused = 3 if chain_of(network) is not None else 1  # roots of variances beside their inverses, doubled
    per_point = fused * side_count(network, shapes)
    one = torch.empty(1, 1, *features, dtype=dtype, device="meta")
    if device != "cpu" and usable_chain(network, one, True, 1, torch.device(device)) is not None:
        return per_point, 2 * PANEL
    piece = max(piece_size(torch.device(device)), covariance_count(shapes, network.extents))
    return per_point, TEMPORARIES * piece


def _chained(
    network: WideNetwork,
    shapes: tuple[tuple[int, ...], ...],
    chain: Chain,
    x1: Tensor,
    x2: Tensor | None,
    one: InputSide,
    two: InputSide,
    ntk: bool,
) -> Kernels:
    """Convolutions and read-out in one pass, what follows them (a few small layers) as usual."""
    result = Kernels(*conv_blocks(chain, x1, x2, one, two, ntk))
    axes = len(shapes[chain.last]) - 1
    begun = {chain.last: result.map(lambda t: t.reshape(*t.shape, *[1] * axes))}
    same = slice(0, x1.shape[1]) if x2 is None else None
    kernels = _propagated(network, shapes, one, two, ntk, same, begun)
    if same is not None:
        for values in kernels:
            if values is not None:
                _mirror(values, same)
    return kernels


def _piecewise(
    network: WideNetwork,
    shapes: tuple[tuple[int, ...], ...],
    x1: Tensor,
    x2: Tensor | None,
    one: InputSide,
    two: InputSide,
    ntk: bool,
) -> tuple[Tensor, Tensor | None]:
    """The plain way: cache-sized pieces, one half of a symmetric Gram."""
    columns = x1.shape[1] if x2 is None else x2.shape[1]
    size = (x1.shape[0], x1.shape[1], columns)
    nngp = x1.new_empty(size)
    theta = x1.new_empty(size) if ntk else None
    piece = max(1, piece_size(x1.device) // covariance_count(shapes, network.extents))

    def compute(place: tuple[slice, slice, slice]) -> None:
        batch, rows, cols = place
        same = _overlap(rows, cols) if x2 is None else None
        result = _propagated(network, shapes, one.part(batch, rows), two.part(batch, cols), ntk, same)
        for whole, part in ((nngp, result.nngp), (theta, result.ntk)):
            if whole is not None:
                values = torch.zeros_like(result.nngp) if part is None else part
                if same is not None:
                    _mirror(values, same)
                whole[batch, rows, cols] = values
                if x2 is None:
                    whole[batch, cols, rows] = values.mT

    each(compute, _pieces(size, piece, x2 is None), x1.device)
    return nngp, theta


def _pieces(size: tuple[int, int, int], piece: int, symmetric: bool) -> Iterator[tuple[slice, slice, slice]]:
    batches, n1, n2 = size
    cols = min(n2, piece)
    rows = min(n1, max(1, piece // cols))
    batch = max(1, piece // (rows * cols))
    starts = itertools.product(range(0, batches, batch), range(0, n1, rows), range(0, n2, cols))
    for b, r, c in starts:
        if symmetric and c + cols <= r:
            continue  # below the diagonal: mirrored
        begin = max(c, r) if symmetric else c
        yield slice(b, min(b + batch, batches)), slice(r, min(r + rows, n1)), slice(begin, min(c + cols, n2))


def _overlap(rows: slice, cols: slice) -> slice | None:
    """The inputs that a piece of a symmetric Gram pairs with themselves, counted from its first row."""
    begin, end = max(rows.start, cols.start), min(rows.stop, cols.stop)
    return slice(begin - rows.start, end - rows.start) if begin < end else None


def _mirror(values: Tensor, same: slice) -> None:
    """Make the square of a piece that lies on the diagonal exactly symmetric: its upper half, twice."""
    square = values[:, same, : same.stop - same.start]
    square.copy_(square.triu() + square.triu(1).mT)


def _propagated(
    network: WideNetwork,
    shapes: tuple[tuple[int, ...], ...],
    one: InputSide,
    two: InputSide,
    ntk: bool,
    same: slice | None,
    begun: dict[int, Kernels] | None = None,
) -> Kernels:
    """Both kernels of every input of `one` with every input of `two`; `same` rows meet themselves.

    `begun` holds the kernels of one node, if known; the nodes up to it are then left out.
    """
    states = dict(begun or {})
    done = max(states, default=-1)
    for index, node in enumerate(network.nodes):
        wanted = network.extents[index]
        if index <= done or wanted is Extent.NONE or network.laws[index].fixed:
            continue
        left, right = one.patches[index], two.patches[index]
        if isinstance(node.operation, Conv) and left is not None and right is not None:
            average = patch_covariance(left, right, shapes[index][1:])
            states[index] = _weighted(node.operation, average, None, ntk)
            continue
        need = needed_extent(node.operation, wanted)
        given = [_given(network, states, one, two, i, len(shapes[i]) - 1, need, index) for i in node.inputs]
        pair = one.variances[index], two.variances[index]
        state = _step(node, given, pair, len(shapes[node.inputs[0]]) - 1, need, ntk, same)
        extent, axes = layers.extent_left(node.operation, need), len(shapes[index]) - 1
        states[index] = state.map(partial(layers.restricted_covariance, axes=axes, have=extent, want=wanted))
    last = len(shapes) - 1
    if last not in states:  # a network without weights
        states[last] = _given(network, states, one, two, last, len(shapes[last]) - 1, Extent.EQUAL, last)
    return states[last].map(lambda t: t.reshape(t.shape[:3]))


def _step(
    node: Node,
    given: list[Kernels],
    variances: tuple[Tensor | None, Tensor | None],
    axes: int,
    need: Extent,
    ntk: bool,
    same: slice | None,
) -> Kernels:
    """One operation on kernels that may be overwritten."""
    operation = node.operation
    if isinstance(operation, Activate):
        return _activated(operation, given[0], *variances, axes, need, same)
    if isinstance(operation, Normalise):
        return _normalised(operation, given[0], *variances, axes, need)
    if isinstance(operation, Dense):
        return _weighted(operation, *given[0], ntk)
    if isinstance(operation, Conv):
        return _weighted(
            operation, *given[0].map(lambda t: layers.convolved_covariance(t, operation, need)), ntk
        )
    if isinstance(operation, Sum):
        return _added(given)
    return given[0].map(lambda t: layers.linear_step(operation, t, axes, need))


def _given(
    network: WideNetwork,
    states: dict[int, Kernels],
    one: InputSide,
    two: InputSide,
    source: int,
    axes: int,
    need: Extent,
    reader: int,
) -> Kernels:
    """The kernels a node reads, for the pairs of positions it needs, free to be overwritten."""
    left, right = one.data[source], two.data[source]
    if left is not None and right is not None:
        return Kernels(data_covariance(left, right, axes, need is Extent.ALL), None)
    last = network.last_uses[source] == reader
    state = states.pop(source) if last else states[source]
    state = state.map(lambda t: layers.restricted_covariance(t, axes, network.extents[source], need))
    return state if last else state.map(Tensor.clone)


def _weighted(layer: Dense | Conv, average: Tensor, theta: Tensor | None, ntk: bool) -> Kernels:
    """`K <- w_var A(K) + b_var`, `Theta <- w_var A(Theta) + w_rate A(K) + b_rate`."""
    w = layer.weights
    if ntk:
        if theta is None:
            theta = average * w.w_rate
        else:
            theta.mul_(w.w_var).add_(average, alpha=w.w_rate)
        theta.add_(w.b_rate)
    return Kernels(average.mul_(w.w_var).add_(w.b_var), theta)


def _activated(
    operation: Activate,
    given: Kernels,
    one: Tensor | None,
    two: Tensor | None,
    axes: int,
    need: Extent,
    same: slice | None,
) -> Kernels:
    assert one is not None
    assert two is not None
    dual, theta = operation.dual, given.ntk
    q1 = layers.first_variances(one, axes, need)[:, :, None]
    q2 = layers.second_variances(two, axes, need)[:, None]
    k, slopes = dual.covariance(given.nngp.contiguous(), q1, q2, theta is not None)
    if same is not None:
        for tensor, exact in zip((k, slopes), dual.variance(one[:, same]), strict=True):
            if tensor is not None:
                pairs = axes and need is Extent.ALL
                _coincident(tensor, axes, need, same).copy_(exact.flatten(2) if pairs else exact)
    if theta is not None and slopes is not None:
        theta = theta.mul_(slopes)
    return Kernels(k, theta)


def _coincident(k: Tensor, axes: int, extent: Extent, same: slice) -> Tensor:
    """The entries where an input meets itself at the same position, as a view `[b, inputs, *p]`.

    A piece of a symmetric Gram starts its columns at its first row or later, at the start of `same`.
    """
    count = same.stop - same.start
    block = k[:, same, :count]
    if axes == 0:
        return block.diagonal(dim1=1, dim2=2)
    if extent is not Extent.ALL:
        return block.diagonal(dim1=1, dim2=2).movedim(-1, 1)
    return layers.equal_positions(k, axes)[:, same, :count].diagonal(dim1=1, dim2=2).mT


def _normalised(
    operation: Normalise, given: Kernels, one: Tensor | None, two: Tensor | None, axes: int, need: Extent
) -> Kernels:
    assert one is not None
    assert two is not None
    r1 = layers.first_variances(layers.squared_norm(operation, one, axes).rsqrt(), axes, need)[:, :, None]
    r2 = layers.second_variances(layers.squared_norm(operation, two, axes).rsqrt(), axes, need)[:, None]
    return given.map(lambda t: t.mul_(r1).mul_(r2))


def _added(given: list[Kernels]) -> Kernels:
    k, theta = given[0]
    for other in given[1:]:
        k = k.add_(other.nngp)
        if other.ntk is not None:
            theta = other.ntk if theta is None else theta.add_(other.ntk)
    return Kernels(k, theta)
