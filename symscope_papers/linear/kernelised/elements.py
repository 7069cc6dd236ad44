"""Group elements acting on a network's features: the matrix that moves `phi(x)` to `phi(g x)`, and its error.

A linearised network is regression on features `phi(x)`: its gradients with respect to the weights, or its
last activations. The group acts on x, not on phi. The nearest matrix that does what the group does is

    g~ = (phi(X)^T phi(X))^+ phi(X)^T phi(gX),        phi(g x) ~ phi(x) g~

(App. G of the paper). Features are rows, so matrices act from the right and `phi(h g x) ~ phi(x) g~ h~`.
Sums are taken in one pass over the points, batch by batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels.finite import hidden_activations
from symscope.networks import FunctionalModule, Jacobian, SavedWeights, forward_profile, functional_module
from symscope.numerics import DEFAULT_MEMORY, byte_count

FeatureMap = Callable[[Tensor], Tensor]


def gradient_features(module: nn.Module, *, params: SavedWeights = None) -> FeatureMap:
    """The gradients of a network's outputs with respect to its weights, as features of its inputs.

    `phi(x)[i o + a] = grad_w f_a(x_i)`: one row for every input and output. Their second moment is the
    empirical weights kernel (`kernels.weights_kernel`).

    Args:
        module: Any module from [n, *shape] to [n, o], deterministic in eval mode; it is copied.
        params: A state dict, or the path of one, instead of the module's present weights.

    Returns:
        A function from inputs [n, *shape] to features [n o, weights].

    Raises:
        InputError: If the module or params cannot be used; later, if the inputs cannot.

    >>> phi = gradient_features(nn.Linear(2, 1, bias=False))
    >>> phi(torch.tensor([[3.0, 5.0]], dtype=torch.float64)).tolist()
    [[3.0, 5.0]]
    """
    return _Gradients(functional_module(module, params))


def activation_features(
    module: nn.Module,
    *,
    layer: str | None = None,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> FeatureMap:
    """A network's last activations as features of its inputs; their second moment is the conjugate kernel.

    Args:
        module: Any module from [n, *shape] to [n, o], deterministic in eval mode; it is copied.
        layer: The submodule whose output is taken, by name; None for what goes into the last `nn.Linear`.
        params: A state dict, or the path of one, instead of the module's present weights.
        memory: Working memory of the forward passes.

    Returns:
        A function from inputs [n, *shape] to features [n, activations].

    Raises:
        InputError: If the module or params cannot be used; later, if the inputs or the layer cannot.

    >>> phi = activation_features(nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
    >>> phi(torch.tensor([[3.0, -5.0]], dtype=torch.float64)).tolist()
    [[3.0, 0.0]]
    """
    return _Activations(functional_module(module, params), layer, byte_count(memory))


@final
@dataclass(frozen=True, eq=False)
class KernelisedElement:
    """A group element on features.

    Attributes:
        matrix: g~, acting on rows of features from the right.
        rank: Rank of the features' second moment: outside it g~ is zero.
        rows: Number of rows of features it was fitted to.
    """

    matrix: Float[Tensor, "p p"]
    rank: int
    rows: int


def kernelised_element(
    features: FeatureMap,
    x: Shaped[Tensor, "n *s"],
    images: Shaped[Tensor, "*images"],
    *,
    rank_tolerance: float | None = None,
    batch: int = 4096,
) -> KernelisedElement:
    """The matrix nearest to a group element on features, by least squares (App. G).

    `g~ = argmin_A sum_x |phi(x) A - phi(g x)|^2 = (phi^T phi)^+ phi^T phi(gX)`

    Args:
        features: phi, from `gradient_features`, `activation_features` or your own.
        x: Points.
        images: Images of these points under the group element.
        rank_tolerance: Eigenvalues of `phi^T phi` below this fraction of the largest count as zero; None for
            p rounding units.
        batch: Points whose features are held at once.

    Returns:
        The matrix, with the rank it has.

    Raises:
        InputError: If points and images differ in shape, or features do not fit.

    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]], dtype=torch.float64)
    >>> kernelised_element(lambda x: x, x, x.flip(1)).matrix.round(decimals=12).abs().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    _check_points(x, images, batch)
    second: Tensor | None = None
    cross: Tensor | None = None
    rows = 0
    for some, others in zip(x.split(batch), images.split(batch), strict=True):
        here, there = _pair(features, some, others)
        second = here.mT @ here if second is None else second.addmm_(here.mT, here)
        cross = here.mT @ there if cross is None else cross.addmm_(here.mT, there)
        rows += len(here)
    assert second is not None
    assert cross is not None
    values, vectors = torch.linalg.eigh((second + second.mT) / 2)
    tolerance = _tolerance(rank_tolerance, len(values), values.dtype)
    kept = values > tolerance * values[-1].clamp(min=0)
    basis = vectors[:, kept]
    matrix = (basis / values[kept]) @ (basis.mT @ cross)
    return KernelisedElement(matrix, int(kept.sum()), rows)


@final
@dataclass(frozen=True)
class FeatureError:
    """How far features moved by a matrix are from the features of moved points.

    Attributes:
        norm: `mean |phi(x) A - phi(g x)|`, the norm over features.
        standard_error: Standard error of that mean over rows.
        relative: The norm over `mean |phi(g x)|`.
        mean_square: `mean (phi(x) A - phi(g x))^2` over rows and features.
        rows: Rows averaged over.
    """

    norm: float
    standard_error: float
    relative: float
    mean_square: float
    rows: int


def feature_error(
    features: FeatureMap,
    x: Shaped[Tensor, "n *s"],
    images: Shaped[Tensor, "*images"],
    matrix: Float[Tensor, "p p"] | None,
    *,
    batch: int = 4096,
) -> FeatureError:
    """The error of a matrix as a group element on features (Table 1).

    `mean_x |phi(x) A - phi(g x)|`; without a matrix, `mean_x |phi(x) - phi(g x)|`

    Args:
        features: phi.
        x: Points; points the matrix was not fitted to, if it is to be judged.
        images: Images of these points under the group element.
        matrix: A, or None for the identity: what is lost when the group is ignored.
        batch: Points whose features are held at once.

    Returns:
        The error in several units.

    Raises:
        InputError: If points and images differ in shape, or the matrix does not fit the features.

    >>> x = torch.tensor([[1.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
    >>> round(feature_error(lambda x: x, x, x.flip(1), None).norm, 6)  # sqrt(2) * (3 + 1) / 2
    2.828427
    """
    _check_points(x, images, batch)
    norms, sizes, square, entries = [], [], 0.0, 0
    for some, others in zip(x.split(batch), images.split(batch), strict=True):
        here, there = _pair(features, some, others)
        if matrix is not None:
            if tuple(matrix.shape) != (here.shape[1],) * 2:
                raise InputError(
                    f"matrix: expected {here.shape[1]} x {here.shape[1]}, as there are features, got "
                    f"{tuple(matrix.shape)}."
                )
            here = here @ matrix
        gap = here - there
        norms.append(gap.norm(dim=1))
        sizes.append(there.norm(dim=1))
        square += float(gap.square().sum())
        entries += gap.numel()
    norm, size = torch.cat(norms), torch.cat(sizes)
    spread = float(norm.std() / math.sqrt(len(norm))) if len(norm) > 1 else math.nan
    mean, scale = float(norm.mean()), float(size.mean())
    return FeatureError(mean, spread, mean / scale if scale else math.nan, square / entries, len(norm))


@final
@dataclass(frozen=True, eq=False)
class _Gradients:
    network: FunctionalModule

    def __call__(self, x: Tensor) -> Tensor:
        self.network.check_inputs(x)
        outputs = forward_profile(self.network, x).outputs
        cotangents = torch.eye(outputs, dtype=self.network.dtype_for(x), device=x.device)
        rows = Jacobian(self.network, x).rows(cotangents)
        return torch.cat([t.detach().flatten(2).flatten(0, 1) for t in rows.values()], dim=1)


@final
@dataclass(frozen=True, eq=False)
class _Activations:
    network: FunctionalModule
    layer: str | None
    memory: int

    def __call__(self, x: Tensor) -> Tensor:
        self.network.check_inputs(x)
        return hidden_activations(self.network, x, self.layer, self.memory)


def _pair(features: FeatureMap, x: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    here, there = features(x), features(images)
    if here.ndim != 2 or here.shape != there.shape or not here.is_floating_point():
        raise InputError(
            f"features: expected [rows, p] floating-point numbers for both, got {tuple(here.shape)} of "
            f"{here.dtype} and {tuple(there.shape)}."
        )
    return here, there


def _tolerance(tolerance: float | None, size: int, dtype: torch.dtype) -> float:
    if tolerance is None:
        return size * torch.finfo(dtype).eps
    if not 0 <= tolerance < 1:
        raise InputError(f"rank_tolerance: expected a fraction from 0 up to 1, got {tolerance}.")
    return tolerance


def _check_points(x: Tensor, images: Tensor, batch: int) -> None:
    if x.ndim < 1 or len(x) == 0 or x.shape != images.shape:
        raise InputError(
            f"expected points and their images of one shape [n, ...], got {tuple(x.shape)} and "
            f"{tuple(images.shape)}."
        )
    if batch < 1:
        raise InputError(f"batch: expected at least 1 point at once, got {batch}.")
