"""How far a function is from invariant or equivariant: the paper's asymmetry loss, exact and sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError, NotFiniteError
from symscope.groups import Quadrature
from symscope.linear._weighted_elements import Symmetry, act, act_inverse, random_elements, weighted_elements
from symscope.numerics import checked

__all__ = [
    "SampledAsymmetry",
    "asymmetric_part",
    "asymmetry_loss",
    "sampled_asymmetry_loss",
]


@final
@dataclass(frozen=True)
class SampledAsymmetry:
    """An asymmetry loss from randomly drawn group elements.

    Attributes:
        value: The estimate, with the bias of order one over the number of elements taken off.
        standard_error: Standard error of the value over random group elements; the inputs are held fixed.
        samples: Number of elements drawn.
    """

    value: float
    standard_error: float
    samples: int


@checked
def asymmetric_part(
    f: Callable[[Tensor], Tensor],
    x: Tensor,
    symmetry: Symmetry,
    outputs: Symmetry | None = None,
    quadrature: Quadrature | None = None,
) -> Tensor:
    """What is left of a function when its symmetric part is taken away, `f(x) - mean_g g^-1 f(g x)`.

    Args:
        f: Any function from a batch `[n, *sample]` to a batch `[n]` or `[n, *output]`.
        x: Inputs `[n, *sample]`.
        symmetry: What acts on the inputs: a data action, a representation, or matrices `[order, d, d]` that
            act as `x g`.
        outputs: What acts on the outputs, element by element the same group; nothing moves by default, which
            asks for invariance.
        quadrature: Elements that stand for a compact group.

    Returns:
        One value per input, in the shape f returns. Gradients flow through it.

    Raises:
        InputError: Elements that are not listed, symmetries that do not fit each other, the inputs or f.

    >>> from symscope.groups import cyclic, permutation
    >>> asymmetric_part(lambda x: x[:, 0], torch.tensor([[1.0, 3.0]]), permutation(cyclic(2)))
    tensor([-1.])
    """
    _check_one_group(symmetry, outputs)
    there = _values(f, x)
    mean = torch.zeros_like(there)
    for g, weight in weighted_elements(symmetry, quadrature):
        mean = mean + weight * _image(f, x, symmetry, outputs, g)
    return there - mean


@checked
def asymmetry_loss(
    f: Callable[[Tensor], Tensor],
    x: Tensor,
    symmetry: Symmetry,
    outputs: Symmetry | None = None,
    quadrature: Quadrature | None = None,
) -> Float[Tensor, ""]:
    """How far a function is from symmetric on given inputs, `mean_x |f(x) - mean_g g^-1 f(g x)|` (Section 5).

    The modulus for scalar functions, the Euclidean norm for others.

    Args:
        f: Any function from a batch `[n, *sample]` to a batch `[n]` or `[n, *output]`.
        x: Inputs `[n, *sample]`.
        symmetry: What acts on the inputs: a data action, a representation, or matrices `[order, d, d]` that
            act as `x g`.
        outputs: What acts on the outputs; nothing moves by default, which asks for invariance.
        quadrature: Elements that stand for a compact group.

    Returns:
        A scalar, zero exactly when f is symmetric on the orbits of x.

    Raises:
        InputError: As `asymmetric_part`.

    >>> from symscope.groups import cyclic, permutation
    >>> swap = permutation(cyclic(2))
    >>> x = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
    >>> asymmetry_loss(lambda x: x[:, 0], x, swap), asymmetry_loss(lambda x: x.sum(1), x, swap)
    (tensor(0.5000), tensor(0.))
    >>> asymmetry_loss(lambda x: x[:, [1, 0]], x, swap, outputs=swap)
    tensor(0.)
    """
    return _norms(asymmetric_part(f, x, symmetry, outputs, quadrature)).mean()


@checked
def sampled_asymmetry_loss(
    f: Callable[[Tensor], Tensor],
    x: Tensor,
    symmetry: Symmetry,
    outputs: Symmetry | None = None,
    *,
    samples: int,
    seed: int,
) -> SampledAsymmetry:
    """The asymmetry loss from random elements, for groups that are too big to list or have no quadrature.

    The mean over `samples` elements stands for the mean over the group; the jackknife over them takes off the
    bias of the norm and gives the standard error.

    Args:
        f: Any function from a batch `[n, *sample]` to a batch `[n]` or `[n, *output]`.
        x: Inputs `[n, *sample]`.
        symmetry: What acts on the inputs.
        outputs: What acts on the outputs; nothing moves by default.
        samples: Number of elements to draw, at least 2; all inputs share them.
        seed: Seed for drawing elements.

    Raises:
        InputError: As `asymmetric_part`, fewer than two samples, or outputs that are not finite.

    >>> from symscope.groups import permutation, symmetric
    >>> x = torch.tensor([[1.0] + [0.0] * 9])
    >>> loss = sampled_asymmetry_loss(lambda x: x[:, 0], x, permutation(symmetric(10)), samples=400, seed=0)
    >>> abs(loss.value - 0.9) < 3 * loss.standard_error  # 3.6 million elements: 1 - 1/10
    True
    """
    _check_one_group(symmetry, outputs)
    with torch.no_grad():
        there = _values(f, x)
        images = torch.stack(
            [_image(f, x, symmetry, outputs, g) for g in random_elements(symmetry, samples, seed)]
        )
        total = images.sum(0)
        whole = _norms(there - total / samples).mean()
        without = torch.stack([_norms(there - (total - image) / (samples - 1)).mean() for image in images])
    value = samples * whole - (samples - 1) * without.mean()
    spread = (samples - 1) / samples * (without - without.mean()).square().sum()
    if not bool((value + spread).isfinite()):
        raise NotFiniteError("outputs of f: expected finite numbers whose squares are finite too")
    return SampledAsymmetry(float(value), float(spread.sqrt()), samples)


def _image(
    f: Callable[[Tensor], Tensor], x: Tensor, symmetry: Symmetry, outputs: Symmetry | None, g: object
) -> Tensor:
    image = _values(f, act(symmetry, g, x))
    return image if outputs is None else act_inverse(outputs, g, image)


def _values(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    if x.ndim < 2 or len(x) == 0:
        raise InputError(f"expected a batch of inputs [n, *sample], got shape {tuple(x.shape)}.")
    values = f(x)
    if not isinstance(values, Tensor) or values.ndim == 0 or len(values) != len(x):
        got = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
        raise InputError(f"expected f to return {len(x)} outputs, one per input, got {got}.")
    return values


def _norms(part: Tensor) -> Float[Tensor, " n"]:
    return torch.linalg.vector_norm(part.reshape(len(part), -1), dim=1)


def _check_one_group(symmetry: Symmetry, outputs: Symmetry | None) -> None:
    if outputs is None:
        return
    if isinstance(symmetry, Tensor) != isinstance(outputs, Tensor):
        raise InputError("expected matrices for inputs and outputs, or a group acting on both.")
    if isinstance(symmetry, Tensor) and isinstance(outputs, Tensor):
        if len(symmetry) != len(outputs):
            raise InputError(
                f"expected as many matrices for the outputs as for the inputs, {len(symmetry)}, got "
                f"{len(outputs)}."
            )
    elif symmetry.group != outputs.group:  # type: ignore[union-attr]
        raise InputError(
            f"expected one group acting on inputs and outputs, got {symmetry.group.name} and "  # type: ignore[union-attr]
            f"{outputs.group.name}."  # type: ignore[union-attr]
        )
