"""How equivariant the layers of an existing module are, given representations of the spaces between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from symscope.dynamics.elements import element_name, probes
from symscope.errors import InputError, nearest
from symscope.groups import Representation, equivariant_maps, invariant_vectors

LARGEST_MATRIX_BYTES = 2**31
AFFINE = 1e-4  # relative departure from an affine map that float32 rounding can make


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
        element: The group element that moves the layer most.
        breaks: Whether it breaks equivariance by more than the tolerance.
    """

    name: str
    equivariant: float
    residual: float
    bias_residual: float
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
            f"({self.relative:.2%}), bias {self.bias_residual:.3g}"
        )


def layer_equivariance(
    module: nn.Module,
    spaces: Mapping[str, LayerSpaces | tuple[Representation, Representation]],
    *,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> tuple[LayerEquivariance, ...]:
    """`|A_E|` and `|A_{E_perp}|` of layers of any module, the worst first.

    A layer may be any affine submodule: `nn.Linear`, a convolution (give `input_shape`), your own.

    Args:
        module: A trained or untrained model; it is not changed.
        spaces: For each layer by name, the representations of its input and output.
        tolerance: Relative `|A_{E_perp}|` (of weights or bias) above which a layer breaks equivariance.
        seed: Of elements of groups too large to try them all.

    Raises:
        InputError: A name that is not there, representations that do not fit, or a layer that is not affine.

    >>> from symscope.groups import cyclic, permutation
    >>> v = permutation(cyclic(8))
    >>> conv = nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular")
    >>> [found] = layer_equivariance(nn.Sequential(conv), {"0": LayerSpaces(v, 2 * v, (1, 8))})
    >>> found.breaks
    False
    """
    known = dict(module.named_modules())
    found = []
    for name, given in spaces.items():
        if name not in known:
            raise InputError(f"expected the name of a layer, got {name!r}: {nearest(name, known)}")
        place = given if isinstance(given, LayerSpaces) else LayerSpaces(*given)
        matrix, bias = affine_parts(known[name], place, name)
        found.append(_judged(name, place, matrix, bias, tolerance, seed))
    return tuple(sorted(found, key=lambda layer: -max(layer.relative, layer.bias_residual)))


def affine_parts(layer: nn.Module, place: LayerSpaces, name: str = "layer") -> tuple[Tensor, Tensor]:
    """The matrix and the bias of an affine layer, found by applying it to a basis, in float64.

    >>> from symscope.groups import cyclic, permutation
    >>> v = permutation(cyclic(3))
    >>> linear = nn.Linear(3, 3)
    >>> matrix, bias = affine_parts(linear, LayerSpaces(v, v))
    >>> bool((matrix - linear.weight).abs().max() < 1e-6)
    True
    """
    n, shape = place.source.dim, place.input_shape or (place.source.dim,)
    like = next(layer.parameters(), torch.zeros(()))
    if torch.Size(shape).numel() != n:
        raise InputError(f"expected input_shape of {n} numbers for {place.source!r} at {name}, got {shape}.")
    if n * max(n, place.target.dim) * 8 > LARGEST_MATRIX_BYTES:
        raise InputError(f"expected a smaller layer: the matrix of {name} would take over 2 GiB.")
    probe = torch.randn(1, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    inputs = torch.cat([torch.zeros(1, n, dtype=torch.float64), torch.eye(n, dtype=torch.float64), probe])
    was = layer.training
    layer.eval()
    try:
        with torch.no_grad():
            outputs = layer(inputs.to(like).reshape(-1, *shape)).flatten(1).cpu().to(torch.float64)
    except RuntimeError as error:
        raise InputError(
            f"expected {name} to take inputs of shape {shape} ({place.source!r}); it says: {error}. Give "
            "input_shape, or another representation."
        ) from error
    finally:
        layer.train(was)
    if outputs.shape[1] != place.target.dim:
        raise InputError(
            f"expected {name} to give {place.target.dim} numbers ({place.target!r}), it gives "
            f"{outputs.shape[1]}: give the representation of its output."
        )
    bias = outputs[0]
    matrix = (outputs[1:-1] - bias).T.contiguous()
    gap = float(torch.linalg.vector_norm(matrix @ probe[0] + bias - outputs[-1]))
    if gap > AFFINE * float(torch.linalg.vector_norm(outputs[-1])) + AFFINE * float(bias.norm()):
        raise InputError(f"expected an affine layer; {name} is not (off by {gap:.2g}): name linear layers.")
    return matrix, bias


def _judged(
    name: str, place: LayerSpaces, matrix: Tensor, bias: Tensor, tolerance: float, seed: int
) -> LayerEquivariance:
    for space in (place.source, place.target):
        if not space.unitary:
            raise InputError(
                f"expected unitary representations; {space!r} at {name} is not: use groups.unitarised(rep)."
            )
    maps = equivariant_maps(place.source, place.target)
    inside = maps.project(matrix)
    outside = float(torch.linalg.matrix_norm(matrix - inside))
    size = float(torch.linalg.matrix_norm(matrix))
    moved_bias = float(invariant_vectors(place.target).distance(bias[:, None]))
    worst, element = -1.0, ""
    for g in probes(place.source.group, 64, torch.Generator().manual_seed(seed)):
        turned = place.source.act(g, place.target.act(g, matrix, axis=-2), axis=-1)
        change = float(torch.linalg.matrix_norm(turned - matrix))
        if change > worst:
            worst, element = change, element_name(place.source.group, g)
    breaks = outside > tolerance * size or moved_bias > tolerance * max(float(bias.norm()), size)
    return LayerEquivariance(
        name, float(torch.linalg.matrix_norm(inside)), outside, moved_bias, element, breaks
    )
