"""How equivariant the layers of an existing module are, given representations of the spaces between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import final

import torch
from torch import Tensor, nn
from torch.func import functional_call

from symscope.dynamics.averaged_elements import element_name, probes
from symscope.errors import InputError, nearest
from symscope.groups import Representation, equivariant_maps, invariant_vectors
from symscope.networks import eval_mode
from symscope.numerics import explained, seed_generator

LARGEST_MATRIX_BYTES = 2**31
AFFINE = 1e-4  # relative distance from an affine map that float32 rounding can make
ROUNDINGS = 8  # the same in a dtype with fewer digits, in units of its last one
SCALES = (0.5, 1.0, 2.0, 8.0)  # of random points a layer is probed at, and of their opposites


@final
@dataclass(frozen=True)
class LayerSpaces:
    """The spaces of one layer of a user's module.

    Attributes:
        source: How the group acts on its flattened input.
        target: How the group acts on its flattened output.
        input_shape: The shape of one input, where it is not a vector: (channels, height, width) for images.
    """

    source: Representation
    target: Representation
    input_shape: tuple[int, ...] | None = None


@final
@dataclass(frozen=True)
class LayerEquivariance:
    """How equivariant one layer is.

    Attributes:
        name: The layer's name in the module.
        equivariant: `|A_E|`.
        residual: `|A_{E_perp}|`.
        bias_residual: The part of its bias that the group moves.
        bias_relative: That part of the bias divided by `|A|` or by the bias, whichever is larger.
        element: The group element that moves the layer (weights and bias) most.
        breaks: Whether it breaks equivariance by more than the tolerance.
    """

    name: str
    equivariant: float
    residual: float
    bias_residual: float
    bias_relative: float
    element: str
    breaks: bool

    @property
    def relative(self) -> float:
        """`|A_{E_perp}| / |A|`: 0 for an equivariant layer, 1 for one with no equivariant part."""
        total = (self.equivariant**2 + self.residual**2) ** 0.5
        return self.residual / total if total else 0.0

    def __str__(self) -> str:
        words = f"breaks equivariance, most for element {self.element}" if self.breaks else "is equivariant"
        return (
            f"{self.name} {words}: |A_E| {self.equivariant:.4g}, |A_E_perp| {self.residual:.4g} "
            f"({self.relative:.2%}), bias {self.bias_residual:.3g} ({self.bias_relative:.2%})"
        )


@explained
def layer_equivariance(
    module: nn.Module,
    spaces: Mapping[str, LayerSpaces | tuple[Representation, Representation]],
    *,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> tuple[LayerEquivariance, ...]:
    """`|A_E|` and `|A_{E_perp}|` of layers of any module, the worst (relatively) first.

    A layer may be any affine submodule: `nn.Linear`, a convolution (give `input_shape`), your own.

    Args:
        module: A trained or untrained model; it is not changed.
        spaces: Representations of the input and output of each layer, by its name.
        tolerance: Relative `|A_{E_perp}|` (of weights or bias) above which a layer breaks equivariance.
        seed: Seed for drawing elements of groups too large to try them all.

    Raises:
        InputError: A name that is not there, representations that do not fit, a layer that is not affine, or
            weights that are not finite.

    >>> from symscope.groups import cyclic, permutation
    >>> v = permutation(cyclic(8))
    >>> conv = nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular")
    >>> [result] = layer_equivariance(nn.Sequential(conv), {"0": LayerSpaces(v, 2 * v, (1, 8))})
    >>> result.breaks
    False
    """
    known = dict(module.named_modules())
    result = []
    for name, given in spaces.items():
        if name not in known:
            raise InputError(f"expected the name of a layer, got {name!r}: {nearest(name, known)}")
        place = given if isinstance(given, LayerSpaces) else LayerSpaces(*given)
        matrix, bias = affine_parts(known[name], place, name)
        result.append(_layer_verdict(name, place, matrix, bias, tolerance, seed))
    return tuple(sorted(result, key=lambda layer: -max(layer.relative, layer.bias_relative)))


def affine_parts(layer: nn.Module, place: LayerSpaces, name: str = "layer") -> tuple[Tensor, Tensor]:
    """The matrix and the bias of an affine layer, found by applying it to a basis, in float64.

    The layer computes with its weights in float64 where it can, else in their own dtype.

    >>> from symscope.groups import cyclic, permutation
    >>> v = permutation(cyclic(3))
    >>> linear = nn.Linear(3, 3)
    >>> matrix, bias = affine_parts(linear, LayerSpaces(v, v))
    >>> bool((matrix - linear.weight).abs().max() < 1e-6)
    True
    """
    n, shape = place.source.dim, place.input_shape or (place.source.dim,)
    if torch.Size(shape).numel() != n:
        raise InputError(f"expected input_shape of {n} numbers for {place.source!r} at {name}, got {shape}.")
    if n * max(n, place.target.dim) * 8 > LARGEST_MATRIX_BYTES:
        raise InputError(f"expected a smaller layer: the matrix of {name} would take over 2 GiB.")
    drawn = torch.randn(len(SCALES), n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn *= torch.tensor(SCALES, dtype=torch.float64)[:, None]
    points = torch.cat([drawn, -drawn])
    inputs = torch.cat([torch.zeros(1, n, dtype=torch.float64), torch.eye(n, dtype=torch.float64), points])
    try:
        outputs, rounding = _layer_outputs(layer, inputs.reshape(-1, *shape))
    except Exception as error:  # whatever a user's layer raises
        raise InputError(
            f"expected {name} to take inputs of shape {shape} ({place.source!r}); it raises: {error}. Give "
            "input_shape, another representation, or the name of a layer that takes one tensor."
        ) from error
    outputs = _flat_outputs(outputs, layer, place, name, len(inputs))
    bias = outputs[0]
    matrix = (outputs[1 : n + 1] - bias).T.contiguous()
    gap = float(torch.linalg.vector_norm(points @ matrix.T + bias - outputs[n + 1 :]))
    size = float(torch.linalg.vector_norm(outputs[n + 1 :]))
    if gap > max(AFFINE, ROUNDINGS * rounding) * (size + float(bias.norm())):
        raise InputError(f"expected an affine layer; {name} is not (off by {gap:.2g}): name linear layers.")
    return matrix, bias


def _layer_outputs(layer: nn.Module, inputs: Tensor) -> tuple[object, float]:
    """What a layer gives in evaluation mode, and the rounding of the numbers it computed with."""
    state = dict(chain(layer.named_parameters(), layer.named_buffers()))
    like = next((t for t in state.values() if t.is_floating_point()), torch.zeros(()))
    with eval_mode(layer):
        try:
            wide = {key: t.to(torch.float64) for key, t in state.items() if t.is_floating_point()}
            given = inputs.to(like.device)
            return functional_call(layer, wide, given), torch.finfo(given.dtype).eps
        except Exception:  # constants of its own in another dtype, or a device without float64
            return layer(inputs.to(like)), torch.finfo(like.dtype).eps


def _flat_outputs(outputs: object, layer: nn.Module, place: LayerSpaces, name: str, count: int) -> Tensor:
    """Outputs as `[count, dim of target]` in float64."""
    if not isinstance(outputs, Tensor) or not outputs.is_floating_point():
        raise InputError(
            f"expected {name} to give one tensor of real numbers; {type(layer).__name__} gives "
            f"{outputs.dtype if isinstance(outputs, Tensor) else type(outputs).__name__}: name an affine "
            "layer inside it."
        )
    if outputs.ndim < 1 or len(outputs) != count:
        raise InputError(
            f"expected {name} to give one output per input, got shape {tuple(outputs.shape)} for {count} "
            "inputs: name a layer whose first axis counts samples."
        )
    if outputs.numel() != count * place.target.dim:
        raise InputError(
            f"expected {name} to give {place.target.dim} numbers ({place.target!r}), it gives "
            f"{outputs.numel() // count}: give the representation of its output."
        )
    if not bool(outputs.isfinite().all()):
        state = chain(layer.named_parameters(), layer.named_buffers())
        bad = [key for key, tensor in state if not bool(tensor.isfinite().all())]
        blame = f"{', '.join(bad)} of {name} is not" if bad else f"what {name} gives is not"
        raise InputError(f"expected a layer with finite weights; {blame}: repair or retrain it.")
    return outputs.reshape(count, -1).cpu().to(torch.float64)


def _layer_verdict(
    name: str, place: LayerSpaces, matrix: Tensor, bias: Tensor, tolerance: float, seed: int
) -> LayerEquivariance:
    for space in (place.source, place.target):
        if not space.unitary:
            raise InputError(
                f"expected unitary representations; {space!r} at {name} is not: groups.unitary_form(rep) "
                "gives (unitary, S), where coordinates x become S x."
            )
    maps = equivariant_maps(place.source, place.target)
    inside = maps.project(matrix)
    outside = float(torch.linalg.matrix_norm(matrix - inside))
    size = float(torch.linalg.matrix_norm(matrix))
    whole = max(size, float(bias.norm()))
    moved_bias = float(invariant_vectors(place.target).distance(bias[:, None]))
    worst, element = -1.0, ""
    for g in probes(place.source.group, 64, seed_generator(seed)):
        turned = place.source.act(g, place.target.act(g, matrix, axis=-2), axis=-1)
        change = max(
            _ratio(float(torch.linalg.matrix_norm(turned - matrix)), size),
            _ratio(float(torch.linalg.vector_norm(place.target.act(g, bias) - bias)), whole),
        )
        if change > worst:
            worst, element = change, element_name(place.source.group, g)
    bias_relative = _ratio(moved_bias, whole)
    return LayerEquivariance(
        name,
        float(torch.linalg.matrix_norm(inside)),
        outside,
        moved_bias,
        bias_relative,
        element,
        breaks=_ratio(outside, size) > tolerance or bias_relative > tolerance,
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
