"""Are two sets of samples drawn alike? The held-out accuracy of a classifier that is to tell them apart.

A classifier two-sample test (Lopez-Paz and Oquab, Revisiting classifier two-sample tests, ICLR 2017): where
the two sets have one distribution, no classifier is right more than half of the time. The classifier is
kernel ridge regression on labels -1 and 1, whose cross-fitted predictions are linear in the labels, so that
all permutations of a permutation test cost one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import seeded

FOLDS = 10  # parts of the samples, each predicted from the others
FEWEST = 5  # samples of each set
WIDTHS = (0.25, 1.0)  # squared widths of the Gaussian kernels, in medians of the squared distance
RIDGE = 0.5  # added to a kernel whose diagonal is 1; less of it overfits where the sets overlap
SPREAD = 1.6  # variance of cross-fitted accuracies over that of independent predictions, as simulated
LEVEL = 1.959964  # standard normal quantile of intervals that hold 95 %


@final
@dataclass(frozen=True)
class TwoSampleTest:
    """How well a classifier tells two sets of samples apart, on samples it was not fitted to.

    Attributes:
        accuracy: Share of held-out samples assigned to their own set, sets weighted equally; 0.5 by chance.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        p_value: Share of permutations of the labels with at least this accuracy; 1 where none was asked for.
        samples: Samples of both sets together.
    """

    accuracy: float
    low: float
    high: float
    p_value: float
    samples: int


def wilson_interval(successes: float | int, count: float | int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's score (1927), which stays within 0 and 1.

    Args:
        successes: How often it happened.
        count: How often it could have happened; without any, the interval is all from 0 to 1.

    >>> [round(end, 3) for end in wilson_interval(9, 10)]
    [0.596, 0.982]
    """
    if count == 0:
        return 0.0, 1.0
    share, z = successes / count, LEVEL**2 / count
    centre = (share + z / 2) / (1 + z)
    half = math.sqrt(z * share * (1 - share) + z**2 / 4) / (1 + z)
    return max(0.0, centre - half), min(1.0, centre + half)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P-values corrected for how many there are (Holm 1979): all at most 0.05 are wrong with chance 0.05.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    result, largest = [0.0] * len(p_values), 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[k]))
        result[k] = largest
    return tuple(result)


def two_sample_test(
    first: Float[Tensor, "m d"], second: Float[Tensor, "k d"], seed: int, permutations: int = 0
) -> TwoSampleTest:
    """Can a classifier tell two sets apart? Cross-fitted accuracy, its interval, and an exact p-value.

    Labels are permuted within folds, which keep the share of each set; under the hypothesis of one
    distribution every permutation is as likely as the labels themselves, whatever the classifier. The
    interval is Wilson's for fewer predictions than there are, since those of one fit depend on each other;
    its upper end is that of an accuracy of at least 0.5.

    Args:
        first: Features of the samples of one set.
        second: Features of the samples of the other set; no sample is in both.
        seed: Seed for the folds and the permutations.
        permutations: How many permutations; the smallest p-value is `1 / (permutations + 1)`.

    Raises:
        InputError: Fewer than 5 samples in a set.

    >>> a = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    >>> found = two_sample_test(a, a.flip(0) + 2, 0, 99)
    >>> round(found.accuracy, 2), round(found.low, 2), round(found.high, 2), found.p_value
    (0.93, 0.84, 0.97, 0.01)
    """
    if min(len(first), len(second)) < FEWEST:
        raise InputError(
            f"expected at least {FEWEST} samples in each of two sets to compare, got {len(first)} and "
            f"{len(second)}."
        )
    side = torch.cat([torch.ones(len(first)), -torch.ones(len(second))])
    fold = balanced_folds(side > 0, seed)
    inverse = kernel_inverse(torch.cat([first, second]))
    columns = torch.cat([side[:, None], _permuted(side, fold, permutations, seed)], 1).float()
    right = (cross_predictions(inverse.float(), fold, columns) > 0) == (columns > 0)
    # sets of the same sizes in every column, weighted equally
    found = [(right & ((columns > 0) == own)).sum(0).double() for own in (True, False)]
    scores = (found[0] / len(first) + found[1] / len(second)) / 2
    accuracy = float(scores[0])
    independent = len(side) / SPREAD
    low = wilson_interval(accuracy * independent, independent)[0]
    # below chance there is nothing to tell, and few samples must not look like certainty
    high = wilson_interval(max(accuracy, 0.5) * independent, independent)[1]
    reached = int((scores[1:] >= scores[0] - 1e-9).sum())
    return TwoSampleTest(accuracy, low, high, (1 + reached) / (1 + permutations), len(side))


def balanced_folds(first: Bool[Tensor, "n"], seed: int) -> Int64[Tensor, "n"]:
    """A fold for each sample, drawn so that every fold has its share of both sets."""
    fold = torch.empty(len(first), dtype=torch.int64)
    for stream, members in enumerate((first.nonzero()[:, 0], (~first).nonzero()[:, 0])):
        order = torch.randperm(len(members), generator=seeded(seed, 31, stream))
        fold[members[order]] = torch.arange(len(members)) % FOLDS
    return fold


def kernel_inverse(features: Float[Tensor, "n d"]) -> Float64[Tensor, "n n"]:
    """`(K + ridge)^-1` for the mean K of two Gaussian kernels, as wide as the samples are apart."""
    squares = torch.cdist(features.double(), features.double()).square()
    kernel = gaussian_kernel(squares, typical_square(squares))
    kernel.diagonal().add_(RIDGE)
    return torch.cholesky_inverse(torch.linalg.cholesky(kernel))


def typical_square(squares: Float64[Tensor, "n n"]) -> float:
    """The median of squared distances between different samples; 1 where all coincide."""
    apart = squares[squares > 0]
    return float(apart.median()) if len(apart) else 1.0


def gaussian_kernel(squares: Float64[Tensor, "n m"], typical: float) -> Float64[Tensor, "n m"]:
    """The mean of Gaussian kernels of several widths: wide ones see outlines, narrow ones neighbours."""
    return torch.stack([(-squares / (width * typical)).exp() for width in WIDTHS]).mean(0)


def cross_predictions(
    inverse: Float[Tensor, "n n"], fold: Int64[Tensor, "n"], labels: Float[Tensor, "n p"]
) -> Float[Tensor, "n p"]:
    """Predictions of ridge regression for each fold, fitted to the other folds alone.

    With `C = (K + ridge)^-1` and F a fold, `y_F - (C_FF)^-1 (C y)_F` is what the fit without F predicts on F.
    """
    products, result = inverse @ labels, torch.empty_like(labels)
    for k in range(FOLDS):
        at = (fold == k).nonzero()[:, 0]
        if len(at):
            block = inverse[at][:, at].double()
            result[at] = (labels[at] - torch.linalg.solve(block, products[at].double())).to(labels.dtype)
    return result


def _permuted(
    side: Float[Tensor, "n"], fold: Int64[Tensor, "n"], permutations: int, seed: int
) -> Float[Tensor, "n p"]:
    """Labels permuted within folds, one permutation a column."""
    if permutations == 0:
        return side.new_empty(len(side), 0)
    # sorted by fold first and by a random key within it; the keys of fold k lie from k to k + 1
    keys = torch.rand(permutations, len(side), generator=seeded(seed, 37)) + fold
    result = torch.empty(permutations, len(side), dtype=side.dtype)
    result[:, fold.argsort(stable=True)] = side[keys.argsort(1)]
    return result.T
