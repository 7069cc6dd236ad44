"""New symmetries from known ones: from a part of a network to the whole, and to smaller batches (Sec. 4).

A symmetry of a part must keep the part's outputs; one that only keeps some loss of the part does not carry
over, except where the combinator's docstring says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from jaxtyping import Int, Shaped
from torch import Tensor, nn

from symscope.discovery import DataSource, ParameterProblem, parameter_problem
from symscope.discovery.candidates import OneParameterAction, Transformation
from symscope.discovery.fields import FunctionField, LinearField, ParameterField
from symscope.errors import InputError

PartFeatures = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
C = TypeVar("C", ParameterField, OneParameterAction, Transformation)


def induced_symmetry(candidate: C, positions: Int[Tensor, "k"], features: PartFeatures | None = None) -> C:
    """Prop. 4.1: the action on a whole network of a symmetry of a part, `a'_X = (theta_1, a_h(theta_1, X))`.

    Args:
        candidate: A symmetry of the part: field, one-parameter action or transformation.
        positions: Positions of the part's parameters in the whole network's flat vector.
        features: Function h from (whole theta, x, y) to the inputs and targets the part sees; None where the
            part's symmetry does not look at data. It must not depend on the part's own parameters.

    Returns:
        A candidate of the same kind for the whole network.

    Raises:
        InputError: A data-dependent candidate without features, or positions that repeat.

    >>> from symscope.discovery.fields import linear_field
    >>> rescaling = linear_field(torch.diag(torch.tensor([1.0, -1.0])), name="rescaling")
    >>> induced_symmetry(rescaling, torch.tensor([5, 9])).support.tolist()
    [5, 9]
    """
    if len(torch.unique(positions)) != len(positions):
        raise InputError(f"positions: expected every entry once, got {positions.tolist()}")
    if candidate.data_dependent and features is None:
        raise InputError(
            f"{candidate.name} depends on data: give features, what the part of the network sees of them"
        )
    if isinstance(candidate, LinearField):
        support = positions[candidate.support]
        return LinearField(support, candidate.matrix, candidate.offset, candidate.name)
    at = positions
    given: PartFeatures = features or (lambda theta, x, y: (x, y))
    return _adapted(
        candidate,
        candidate.name,
        lambda theta, x, y: (theta[at.to(theta.device)], *given(theta, x, y)),
        lambda theta, part: theta.index_copy(0, at.to(theta.device), part),
    )


def _adapted(
    candidate: C,
    name: str,
    given: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]],
    embedded: Callable[[Tensor, Tensor], Tensor],
) -> C:
    """A candidate of the same kind, which sees `given(theta, x, y)` and whose result is embedded in theta."""
    dependent = candidate.data_dependent
    if isinstance(candidate, ParameterField):
        field = candidate
        return FunctionField(
            lambda theta, x, y: embedded(torch.zeros_like(theta), field(*given(theta, x, y))), name, dependent
        )
    if isinstance(candidate, OneParameterAction):
        action = candidate.function
        return OneParameterAction(
            lambda time, theta, x, y: embedded(theta, action(time, *given(theta, x, y))), name, dependent
        )
    change = candidate.function
    return Transformation(lambda theta, x, y: embedded(theta, change(*given(theta, x, y))), name, dependent)


def widened_symmetry(
    candidate: C, narrow: ParameterProblem, wide: ParameterProblem, units: Sequence[int]
) -> C:
    """Cor. 4.2: a symmetry of `U sigma(V x)` with h hidden units acts on h of the units of a wider network.

    Symmetries of the squared loss carry over as well as those of the outputs: the narrow network sees as
    target what the other units leave of it, `y - U' sigma(V' x)`.

    Args:
        candidate: A symmetry of the narrow network.
        narrow: Network of two layers with h hidden units.
        wide: Network of the same two layers with more hidden units.
        units: Units of the wide network that take the place of the narrow one's.

    Raises:
        InputError: Networks of other shapes, or units that do not fit.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data
    >>> from symscope.discovery.fields import linear_field
    >>> nets = [nn.Sequential(*[nn.Linear(a, b, bias=False) for a, b in ((1, h), (h, 1))]) for h in (1, 3)]
    >>> small, large = (parameter_problem(net, "squared", gaussian_data((1,), (1,))) for net in nets)
    >>> rescaling = linear_field(torch.diag(torch.tensor([1.0, -1.0])))
    >>> widened_symmetry(rescaling, small, large, [2]).support.tolist()
    [2, 5]
    """
    positions = wider_positions(narrow, wide, units)
    # with the outer weights of the units (and the outer bias, where the narrow network has it) at zero, the
    # wide network's outputs are what the other units give
    outer = [name for name in narrow.layout.names[1:] if not _is_inner(name, narrow)]
    silent = torch.cat([positions[narrow.layout.indices(name).reshape(-1)] for name in outer])

    def rest(theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        others = wide.outputs(theta.index_fill(0, silent.to(theta.device), 0.0), x)
        return x, y - others

    return induced_symmetry(candidate, positions, rest)


def _is_inner(name: str, problem: ParameterProblem) -> bool:
    """Whether a parameter of a two-layer network belongs to the first layer."""
    return name.rpartition(".")[0] == problem.layout.names[0].rpartition(".")[0]


def wider_positions(
    narrow: ParameterProblem, wide: ParameterProblem, units: Sequence[int]
) -> Int[Tensor, "k"]:
    """Where the parameters of a narrow two-layer network lie in a wide one.

    Raises:
        InputError: Networks of other shapes, or units that do not fit.
    """
    names, shapes = narrow.layout.names, narrow.layout.shapes
    if names != wide.layout.names or not _two_layers(narrow) or not _two_layers(wide):
        raise InputError(
            f"expected two networks of two linear layers with the same names, got {names} and "
            f"{wide.layout.names}"
        )
    h, available = shapes[0][0], wide.layout.shapes[0][0]
    if len(units) != h or len(set(units)) != h or not all(0 <= u < available for u in units):
        raise InputError(f"units: expected {h} different ones from 0 to {available - 1}, got {list(units)}")
    rows = torch.tensor(list(units))
    parts = []
    for name, shape in zip(names, shapes, strict=True):
        where = wide.layout.indices(name)
        if _is_inner(name, narrow):
            where = where[rows]
        elif len(shape) == 2:
            where = where[:, rows]
        if tuple(where.shape) != shape:
            raise InputError(
                f"parameter {name!r}: expected {list(shape)} for these units, got {list(where.shape)}"
            )
        parts.append(where.reshape(-1))
    return torch.cat(parts)


def _two_layers(problem: ParameterProblem) -> bool:
    shapes = problem.layout.shapes
    matrices = [shape for shape in shapes if len(shape) == 2]
    return len(matrices) == 2 and matrices[1][1] == matrices[0][0] and len(shapes[0]) == 2


def part_problem(whole: ParameterProblem, start: int, stop: int, data: DataSource) -> ParameterProblem:
    """Some consecutive layers of an `nn.Sequential` as a problem of their own, with the squared loss.

    Args:
        whole: A network that is an `nn.Sequential`.
        start: First layer.
        stop: Layer after the last.
        data: Draws inputs of the part and targets for its outputs.

    Raises:
        InputError: Another module, or layers that are not there.
    """
    return parameter_problem(_layers(whole, start, stop), "squared", data, dtype=whole.dtype)


def deepened_symmetry(candidate: C, whole: ParameterProblem, start: int, stop: int) -> C:
    """Cor. 4.3: a symmetry of some consecutive layers of an `nn.Sequential` acts on the whole.

    Args:
        candidate: A symmetry of the part's outputs (that does not look at targets).
        whole: A network that is an `nn.Sequential`.
        start: First layer of the part.
        stop: Layer after its last.

    Returns:
        The candidate on the whole network; its data are what the layers before make of the inputs.

    Raises:
        InputError: Another module, or layers that are not there.
    """
    _layers(whole, start, stop)
    before = _layers(whole, 0, start) if start else nn.Sequential()
    names = [name for name in whole.layout.names if start <= int(name.split(".")[0]) < stop]
    if not names:
        raise InputError(
            f"layers {start} to {stop - 1} have no trainable parameters, so nothing can act there"
        )

    def features(theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        weights = {**whole.network.constants(whole.dtype), **whole.layout.named(theta)}
        own = {name: w for name, w in weights.items() if int(name.split(".")[0]) < start}
        return (torch.func.functional_call(before, own, (x,)) if start else x), y

    return induced_symmetry(candidate, whole.layout.only(names), features)


def _layers(whole: ParameterProblem, start: int, stop: int) -> nn.Sequential:
    module = whole.network.module
    if not isinstance(module, nn.Sequential):
        raise InputError(f"expected an nn.Sequential to take layers from, got {type(module).__name__}")
    if not 0 <= start < stop <= len(module):
        raise InputError(f"expected layers 0 <= start < stop <= {len(module)}, got {start} and {stop}")
    return nn.Sequential(*list(module)[start:stop])


def smaller_batch_symmetry(
    candidate: C, size: int, x: Shaped[Tensor, "e *s"], y: Shaped[Tensor, "e *t"]
) -> C:
    """Prop. 4.4: a symmetry for batches of one size is one for smaller batches, filled up with other data.

    Args:
        candidate: A symmetry for batches of `size` samples.
        size: Batch size of the candidate.
        x: Inputs to fill up with, at least `size - 1`.
        y: Targets to fill up with.

    Returns:
        A candidate for batches of 1 to `size` samples.

    Raises:
        InputError: Too few data to fill up with; at use, a larger batch.
    """
    if size < 1 or x.shape[0] < size - 1:
        raise InputError(f"expected at least {size - 1} samples to fill a batch of {size}, got {x.shape[0]}")

    def filled(inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        missing = size - inputs.shape[0]
        if missing < 0:
            raise InputError(f"{candidate.name}: made for up to {size} samples, got {inputs.shape[0]}")
        return torch.cat([inputs, x[:missing].to(inputs)]), torch.cat([targets, y[:missing].to(targets)])

    return _adapted(
        candidate,
        f"{candidate.name}, for up to {size} samples",
        lambda theta, inputs, targets: (theta, *filled(inputs, targets)),
        lambda theta, result: result,
    )
