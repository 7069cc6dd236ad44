"""Is E stable under augmentation? The spectrum of Hess R_aug on E_perp, without building it (Section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from symscope.dynamics.curvature import hessian_product
from symscope.dynamics.elements import all_elements
from symscope.dynamics.layers import add, flatten, inner, norm, residual, split, transform, unflatten
from symscope.dynamics.network import Layers, Network
from symscope.dynamics.risks import Problem, augmented_problem
from symscope.errors import InputError
from symscope.kernels.eigenpairs import Eigenpairs, top_eigenpairs

ON_E = 1e-6  # relative |A_{E_perp}| up to which layers count as equivariant
NEUTRAL = 1e-9  # relative to the largest curvature: what rounding makes of a zero eigenvalue

Product = Callable[[Layers], Layers]


@final
@dataclass(frozen=True)
class Extremes:
    """The two ends of a spectrum, with how well they are known.

    Attributes:
        lowest: The smallest eigenvalue.
        highest: The largest.
        lowest_direction: Unit layers along the smallest.
        highest_direction: Unit layers along the largest.
        residual: The larger `|H v - value v|` of the two: a true eigenvalue lies within that distance.
        products: Products with the Hessian that it took.
        dimension: Of the subspace.
    """

    lowest: float
    highest: float
    lowest_direction: Layers
    highest_direction: Layers
    residual: float
    products: int
    dimension: int


@final
@dataclass(frozen=True)
class Stability:
    """What curvature says about augmented training near E.

    Attributes:
        outside: Extremes of Hess R_aug on E_perp; None when E is everything.
        inside: Extremes on E, where Hess R_aug = Hess R_eqv; None when E is zero.
        elements: How many group elements were averaged over.
        standard_error: Of the lowest eigenvalue outside, over sampled elements; 0 for an exact average.
    """

    outside: Extremes | None
    inside: Extremes | None
    elements: int
    standard_error: float

    @property
    def growth_rate(self) -> float:
        """`-lowest`: near E, `|A_{E_perp}|` grows (or, negative, falls) at most like exp(rate t)."""
        return -math.inf if self.outside is None else -self.outside.lowest

    @property
    def stabilising_penalty(self) -> float:
        """The smallest gamma for which `R_aug + gamma |A_{E_perp}|^2` has no negative curvature on E_perp.

        The penalty adds `2 gamma` to every eigenvalue there: `gamma = max(0, -lowest / 2)`.
        """
        return 0.0 if self.outside is None else max(0.0, -self.outside.lowest / 2)

    @property
    def verdict(self) -> str:
        """`stable`, `unstable`, or `neutral` where the lowest eigenvalue cannot be told from zero."""
        if self.outside is None:
            return "stable"
        ends = self.outside
        margin = max(
            ends.residual, 4 * self.standard_error, NEUTRAL * max(abs(ends.lowest), abs(ends.highest))
        )
        if abs(ends.lowest) <= margin:
            return "neutral"
        return "stable" if ends.lowest > 0 else "unstable"


def stability(
    problem: Problem,
    weights: Sequence[Tensor],
    *,
    elements: Sequence[Any] | None = None,
    seed: int = 0,
    tolerance: float = 1e-8,
) -> Stability:
    """The extreme eigenvalues of Hess R_aug on E_perp and on E, by Lanczos on Hessian products.

    On E_perp: eigenvalues of `(I - Pi) H (I - Pi)`, its zeros on E moved out of the way.

    Args:
        problem: Network, loss and data.
        weights: Equivariant layers, without an axis of runs; any point of E, not only a stationary one.
        elements: What augmentation averages over; by default all of the group. For groups too large, give
            `drawn_elements(group, passes, generator)`: the verdict then allows for their standard error.
        seed: Of Lanczos' first vector.
        tolerance: Relative accuracy asked of eigenvalues.

    Raises:
        InputError: Layers that are not equivariant, a group too large, or Lanczos that does not converge.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare, squared_loss
    >>> g = cyclic(2); net = declare([permutation(g), trivial(g)])
    >>> x, y = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[3.0]]).double()
    >>> found = stability(Problem(net, squared_loss, x, y), [torch.ones(1, 2).double()])
    >>> found.verdict, round(found.outside.lowest, 12), found.stabilising_penalty
    ('stable', 0.5, 0.0)
    """
    network = problem.network
    sizes = split(network, weights)
    if float(sizes.total_residual) > ON_E * float(sizes.total_equivariant):
        raise InputError(
            f"expected equivariant layers (|A_E_perp| at most {ON_E:g} of |A_E|), got "
            f"{float(sizes.total_residual):.3g} against {float(sizes.total_equivariant):.3g}: take "
            "project(network, weights)."
        )
    chosen = all_elements(network.group) if elements is None else list(elements)
    product = hessian_product(augmented_problem(problem, chosen), weights)
    like = weights[0]
    inside = _inside(network, product, like, seed, tolerance)
    outside = _outside(network, product, like, seed, tolerance)
    error = 0.0
    if elements is not None and outside is not None and len(chosen) > 1:
        error = _sampling_error(problem, weights, chosen, outside.lowest_direction)
    return Stability(outside, inside, len(chosen), error)


def _outside(
    network: Network, product: Product, like: Tensor, seed: int, tolerance: float
) -> Extremes | None:
    dimension = network.parameters - network.equivariant_dimension
    if dimension == 0:
        return None
    generator = torch.Generator().manual_seed(seed)
    probe = torch.randn(network.parameters, generator=generator, dtype=torch.float64).to(like)
    start = residual(network, unflatten(network, probe))
    start = tuple(part / norm(start) for part in start)
    image = residual(network, product(start))
    middle, size = float(inner(start, image)), float(norm(image))

    def end(sign: float) -> Eigenpairs:
        # the Rayleigh quotient lies inside the spectrum: E is put at or beyond it, on the side not asked for
        place = middle - sign * size

        def times(vector: Tensor) -> Tensor:
            layers = unflatten(network, vector)
            outer = residual(network, layers)
            image = residual(network, product(outer))
            return sign * flatten(
                tuple(i + place * (a - o) for i, a, o in zip(image, layers, outer, strict=True))
            )

        return _top(times, network.parameters, like, seed, tolerance)

    return _extremes(network, end, lambda v: residual(network, unflatten(network, v)), start, dimension)


def _inside(network: Network, product: Product, like: Tensor, seed: int, tolerance: float) -> Extremes | None:
    sizes = [maps.dimension for maps in network.maps]
    if sum(sizes) == 0:
        return None

    def layers(c: Tensor) -> Layers:
        return tuple(maps.combine(part) for maps, part in zip(network.maps, c.split(sizes), strict=True))

    def end(sign: float) -> Eigenpairs:
        def times(c: Tensor) -> Tensor:
            image = product(layers(c))
            found = [maps.coefficients(part) for maps, part in zip(network.maps, image, strict=True)]
            return sign * torch.cat(found)

        return _top(times, sum(sizes), like, seed, tolerance)

    first = torch.zeros(sum(sizes), dtype=like.dtype, device=like.device)
    first[0] = 1
    return _extremes(network, end, layers, layers(first), sum(sizes))


def _extremes(
    network: Network,
    end: Callable[[float], Eigenpairs],
    layers: Callable[[Tensor], Layers],
    fallback: Layers,
    dimension: int,
) -> Extremes:
    high, low = end(1.0), end(-1.0)

    def unit(pairs: Eigenpairs) -> Layers:
        found = layers(pairs.vectors[:, 0].to(fallback[0]))
        length = float(norm(found))
        # where all curvature vanishes the eigenvector may lie in E; any direction is as good
        return tuple(part / length for part in found) if length > 0.5 else fallback

    return Extremes(
        -float(low.values[0]),
        float(high.values[0]),
        unit(low),
        unit(high),
        float(torch.cat([low.residuals, high.residuals]).max()),
        low.products + high.products,
        dimension,
    )


def _top(
    times: Callable[[Tensor], Tensor], size: int, like: Tensor, seed: int, tolerance: float
) -> Eigenpairs:
    return top_eigenpairs(
        times, size, 1, seed=seed, dtype=like.dtype, device=like.device, tolerance=tolerance
    )


def _sampling_error(
    problem: Problem, weights: Sequence[Tensor], elements: Sequence[Any], direction: Layers
) -> float:
    """The standard error of `v . H_aug v` over sampled elements, v held fixed.

    On E, `Hess R_aug = mean_g rho_bar(g)^-1 Hess R rho_bar(g)` (Prop. 2), so each element adds the curvature
    of R along `rho_bar(g) v`.
    """
    network = problem.network
    product = hessian_product(problem, weights)
    moved = [transform(network, network.group.inverse(g), direction) for g in elements]
    curvatures = torch.stack([inner(m, product(m)) for m in moved])
    return float(curvatures.std() / math.sqrt(len(elements)))


def perturbed(weights: Sequence[Tensor], direction: Layers, size: float) -> Layers:
    """`A + size * direction`, direction brought to unit length.

    >>> perturbed([torch.zeros(1, 1)], (torch.full((1, 1), 2.0),), 0.5)
    (tensor([[0.5000]]),)
    """
    return add(weights, direction, size / float(norm(direction)))
