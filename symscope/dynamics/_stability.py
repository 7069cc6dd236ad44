"""Is E stable under augmentation? The spectrum of Hess R_aug on E_perp (Section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from torch import Tensor

from symscope.dynamics._declared_network import DeclaredNetwork, LayerWeights
from symscope.dynamics._stability_spaces import (
    LayerSubspace,
    complement,
    complement_with_basis,
    equivariant_space,
)
from symscope.dynamics.averaged_elements import all_elements
from symscope.dynamics.curvature import LARGEST_DENSE, hessian_product
from symscope.dynamics.layer_vectors import check_one_in_e, inner, norm, subtract, transform
from symscope.dynamics.risks import TrainingProblem, augmented_problem
from symscope.errors import InputError
from symscope.numerics import ROUNDING, Eigenpairs, checked, exact_ends, iterated_ends

ON_E = 1e-6  # relative |A_{E_perp}| up to which layers count as equivariant
SAME = 1e-6  # how far apart unit directions may be that elements move alike
NEUTRAL = 1e-9  # of the largest curvature: an eigenvalue up to this counts as zero
EXACT_UP_TO = 512  # dimensions: as many products as Lanczos takes, and no eigenvalue is missed
PROJECTED = 4  # images of the Hessian projected together: as many as Lanczos asks for at once
MOST_PRODUCTS = 20_000  # where LARGEST_DENSE forbids to build the matrix instead

Product = Callable[[LayerWeights], LayerWeights]


@final
@dataclass(frozen=True)
class CurvatureEnds:
    """The two ends of a spectrum, with how well they are known.

    Attributes:
        lowest: The smallest eigenvalue.
        highest: The largest.
        lowest_direction: Unit layers along the smallest.
        highest_direction: Unit layers along the largest.
        residual: The larger `|H v - value v|` of the two: a true eigenvalue lies within that distance.
        products: Products with the Hessian that it took.
        dimension: Dimension of the subspace.
    """

    lowest: float
    highest: float
    lowest_direction: LayerWeights
    highest_direction: LayerWeights
    residual: float
    products: int
    dimension: int


@final
@dataclass(frozen=True)
class Stability:
    """What curvature predicts for augmented training near E.

    Attributes:
        outside: Extremes of Hess R_aug on E_perp; None when E is everything.
        inside: Extremes on E, where Hess R_aug = Hess R_eqv; None when E is zero.
        elements: Number of group elements averaged over.
        standard_error: Standard error of the lowest eigenvalue outside, over sampled elements; 0 for an exact
            average, infinite for elements that tell nothing of it: a single one, or several that all act
            alike.
    """

    outside: CurvatureEnds | None
    inside: CurvatureEnds | None
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
        """`stable`, `unstable`, or `neutral` where the lowest eigenvalue cannot be told from zero.

        That is where it is at most 1e-9 of the largest absolute one, four standard errors, or the rounding of
        the largest one on E or outside: 1e-14 of it, 8e-6 in float32. A positive one is not called stable,
        either, where it is at most the residual times the root of the dimension: a lower one could hide that
        far below. A negative one was seen along a direction, and the lowest is there or below.
        """
        if self.outside is None:
            return "stable"
        ends = self.outside
        rounding = _rounding(ends.lowest_direction[0].dtype) * max(_largest(ends), _largest(self.inside))
        margin = max(NEUTRAL * _largest(ends), 4 * self.standard_error, rounding)
        if ends.lowest < -margin:
            return "unstable"
        # some eigenvalue lies within the residual (Parlett, The Symmetric Eigenvalue Problem, sec. 4.5), not
        # always the lowest: a random start has about 1/sqrt(dimension) of its direction
        hidden = math.sqrt(ends.dimension) * ends.residual
        return "stable" if ends.lowest > max(margin, hidden) else "neutral"


@checked
def stability(
    problem: TrainingProblem,
    weights: Sequence[Tensor],
    *,
    elements: Sequence[Any] | None = None,
    seed: int = 0,
    tolerance: float = 1e-8,
) -> Stability:
    """The extreme eigenvalues of Hess R_aug on E_perp and on E, from Hessian products.

    On E_perp: eigenvalues of `(I - Pi) H (I - Pi)` without its zeros on E. Up to 512 dimensions they come
    from the whole matrix in a basis of the subspace; above, from block Lanczos. Where that is slow, up to
    4000 dimensions, from the whole matrix again.

    Args:
        problem: Network, loss and data.
        weights: Equivariant layers, without an axis of runs; any point of E, not only a stationary one.
        elements: What augmentation averages over; by default all of the group. For groups too large, give
            `drawn_elements(group, passes, generator)`: the lowest eigenvalue is then the mean of that of
            their average, too low as its eigenvector fits the noise, and of curvatures held out, too high;
            the verdict allows for their standard error.
        seed: Seed for Lanczos' first vectors.
        tolerance: Accuracy asked of Lanczos, relative to the largest absolute eigenvalue; no better than the
            rounding of the layers' precision.

    Raises:
        InputError: Layers that are not equivariant, a group too large, products that are not finite, or
            Lanczos that does not converge.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> x, y = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[3.0]]).double()
    >>> result = stability(TrainingProblem(net, half_squared_loss, x, y), [torch.ones(1, 2).double()])
    >>> result.verdict, round(result.outside.lowest, 12), result.stabilising_penalty
    ('stable', 0.5, 0.0)
    """
    network = problem.network
    check_one_in_e(network, weights, ON_E)
    chosen = all_elements(network.group) if elements is None else list(elements)
    like = weights[0]
    # no element moves a direction of E: there the average of all is the Hessian of the plain risk (Prop. 2)
    inside = _extremes(network, hessian_product(problem, weights), "on", like, seed, tolerance)
    product = hessian_product(augmented_problem(problem, chosen), weights)
    outside = _extremes(network, product, "outside", like, seed, tolerance, _largest(inside))
    error = 0.0
    if elements is not None and outside is not None:
        held_out = _held_out(problem, weights, chosen, seed, tolerance, outside.lowest_direction)
        error = math.inf if held_out is None else float(held_out.std() / math.sqrt(len(held_out)))
        if held_out is not None:
            # one is too low in the mean, as the eigenvector fits the noise; the other too high, as it is
            # not quite the lowest
            outside = replace(outside, lowest=(outside.lowest + float(held_out.mean())) / 2)
    return Stability(outside, inside, len(chosen), error)


def _extremes(
    network: DeclaredNetwork,
    product: Product,
    part: str,
    like: Tensor,
    seed: int,
    tolerance: float,
    elsewhere: float = 0.0,
) -> CurvatureEnds | None:
    space = equivariant_space(network) if part == "on" else complement(network)
    if space.dimension == 0:
        return None
    large = space.dimension > EXACT_UP_TO
    result = _lanczos_ends(space, product, part, like, seed, tolerance, elsewhere) if large else None
    products = 0 if result is None else result.products
    if result is None or not result.converged:
        space = space if part == "on" else complement_with_basis(network, like.device)
        result = exact_ends(_times(space, product, like), space.dimension, like.device)
        products += result.products
    low, high = (tuple(layer.to(like) for layer in space.layers(v)) for v in result.vectors.mT)
    lowest, highest = result.values.tolist()
    error = float(result.residuals.max())
    return CurvatureEnds(lowest, highest, low, high, error, products, space.dimension)


def _lanczos_ends(
    space: LayerSubspace,
    product: Product,
    part: str,
    like: Tensor,
    seed: int,
    tolerance: float,
    elsewhere: float,
) -> Eigenpairs:
    """Ends by Lanczos; not converged only where the whole matrix may be built instead."""
    root = math.sqrt(space.dimension)
    small = space.dimension <= LARGEST_DENSE
    result = iterated_ends(
        _times(space, product, like),
        space.size,
        within=lambda columns: space.numbers(space.layers(columns.mT)).mT,
        dimension=space.dimension,
        seed=seed,
        tolerance=max(tolerance, root * _rounding(like.dtype)),
        limit=space.dimension if small else MOST_PRODUCTS,
        floor=elsewhere * _rounding(like.dtype),
        device=like.device,
    )
    if not (result.converged or small):
        reached = root * float(result.residuals.max()) / result.scale
        raise InputError(
            f"expected the ends of the spectrum {part} E to {tolerance:g} of the largest curvature, got "
            f"{reached:.2g} after {result.products} Hessian products: give a larger tolerance. The lowest "
            f"eigenvalue is {float(result.values[0]):.3g} or lower."
        )
    return result


def _times(space: LayerSubspace, product: Product, like: Tensor) -> Callable[[Tensor], Tensor]:
    """The Hessian in coordinates of a subspace; projections are in float64 whatever the layers are."""

    def block(vectors: Tensor) -> Tensor:
        images = [product(tuple(layer.to(like) for layer in space.layers(v))) for v in vectors]
        together = zip(*images, strict=True)
        return space.numbers(tuple(torch.stack(layers).to(torch.float64) for layers in together))

    return lambda columns: torch.cat([block(part) for part in columns.mT.split(PROJECTED)]).mT


def _largest(ends: CurvatureEnds | None) -> float:
    return 0.0 if ends is None else max(abs(ends.lowest), abs(ends.highest))


def _rounding(dtype: torch.dtype) -> float:
    """What products in a precision leave of a zero eigenvalue, relative to the largest."""
    return ROUNDING * torch.finfo(dtype).eps


def _held_out(
    problem: TrainingProblem,
    weights: Sequence[Tensor],
    elements: Sequence[Any],
    seed: int,
    tolerance: float,
    direction: LayerWeights,
) -> Tensor | None:
    """Curvatures along the lowest direction of one half of sampled elements, one for each of the other half.

    On E, `Hess R_aug = mean_g rho_bar(g)^-1 Hess R rho_bar(g)` (Prop. 2), so each element adds the curvature
    of R along `rho_bar(g) v`. None where all elements move `direction` alike: one curvature, however often,
    and nothing says how much others differ.
    """
    network = problem.network
    product = hessian_product(problem, weights)

    def moved(chosen: Sequence[Any], v: LayerWeights) -> list[LayerWeights]:
        return [transform(network, network.group.inverse(g), v) for g in chosen]

    all_moved = moved(elements, direction)
    if all(float(norm(subtract(m, all_moved[0]))) <= SAME for m in all_moved):
        return None
    halves = (elements[::2], elements[1::2])
    curvatures = []
    for half, other in (halves, halves[::-1]):
        half_product = hessian_product(augmented_problem(problem, half), weights)
        ends = _extremes(network, half_product, "outside", weights[0], seed, tolerance)
        assert ends is not None
        curvatures += [inner(m, product(m)) for m in moved(other, ends.lowest_direction)]
    return torch.stack(curvatures)
