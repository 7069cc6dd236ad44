"""Several samples and classes: the paper's average over pairs, and its one-versus-many rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup, check_finite_group
from symscope.numerics import check_ridge, checked, explained, may_be_infinite
from symscope.spectral._missing_sets import check_sample_classes
from symscope.spectral._profile import check_profile
from symscope.spectral.circulant._circulant_spectrum import spectral_error


@checked
def pair_spectra(profile: Float[Tensor, "m m n"], group: FiniteGroup, sample: int) -> Float[Tensor, "m f"]:
    """The circulant spectra of one sample's orbit interleaved with every orbit, its own included.

    Averaging the wrapped diagonals of the pair's matrix keeps of the profile
    `row[2k] = (kappa_ss(k) + kappa_tt(k)) / 2` and `row[2k + 1] = (kappa_st(k) + kappa_st(-k - 1)) / 2`.

    Args:
        profile: `profile[s, t, d] = k(x_s, d x_t)`, or the projected one.
        group: A cyclic group: interleaving needs an order along the orbit, that of `powers`.
        sample: Position s of the sample.

    Returns:
        2 |G| eigenvalues for each t.

    Raises:
        InputError: A group that is not cyclic, or a sample outside.

    >>> from symscope.groups import cyclic
    >>> profile = torch.tensor([[[2.0, 0.5], [0.2, 0.1]], [[0.2, 0.1], [2.0, 0.5]]], dtype=torch.float64)
    >>> pair_spectra(profile, cyclic(2), 0)[1].round(decimals=4).tolist()
    [2.8, 1.5, 2.2, 1.5]
    """
    along = powers(group).to(profile.device)
    if profile.ndim != 3 or profile.shape[2] != group.order:
        raise InputError(
            f"expected a profile [samples, samples, {group.order} elements of {group.name}], got shape "
            f"{tuple(profile.shape)}"
        )
    if not 0 <= sample < len(profile):
        raise InputError(f"expected a sample from 0 to {len(profile) - 1}, got {sample}")
    n = group.order
    own = profile.diagonal().T[:, along]  # kappa_tt(k), [m, n]
    rows = profile.new_empty(len(profile), 2 * n)
    rows[:, 0::2] = (own + own[sample]) / 2
    across = profile[sample][:, along]
    rows[:, 1::2] = (across + across.flip(-1)) / 2
    return torch.fft.fft(rows).real


def powers(group: FiniteGroup) -> Int64[Tensor, "n"]:
    """The elements of a cyclic group as powers of one of them, `e, g, g^2, ..`; g is the first that can be.

    Raises:
        InputError: A group that is not cyclic.

    >>> from symscope.groups import cyclic, direct_product
    >>> powers(cyclic(4)).tolist(), powers(direct_product(cyclic(2), cyclic(3))).tolist()
    ([0, 1, 2, 3], [0, 4, 2, 3, 1, 5])
    """
    generators = (check_finite_group(group).element_orders == group.order).nonzero()[:, 0]
    if len(generators) == 0:
        raise InputError(
            f"interleaving two orbits needs a cyclic group, got {group.name}; use leave_out, which needs none"
        )
    times = group.table[:, int(generators[0])].tolist()  # h -> h g
    result = [group.identity]
    while len(result) < group.order:
        result.append(times[result[-1]])
    return torch.tensor(result)


@checked
@may_be_infinite
def pair_errors(profile: Float[Tensor, "m m n"], group: FiniteGroup, ridge: float) -> Float[Tensor, "m m"]:
    """The paper's spectral error (Eq. 7) of every two orbits; NaN where an orbit would meet itself.

    Args:
        profile: `profile[s, t, d]`.
        group: A cyclic group.
        ridge: Number added to every eigenvalue.

    Raises:
        InputError: One orbit only, or as for `pair_spectra` and `spectral_error`.

    >>> from symscope.groups import cyclic
    >>> profile = torch.tensor([[[2.0, 0.5], [0.2, 0.1]], [[0.2, 0.1], [2.0, 0.5]]], dtype=torch.float64)
    >>> pair_errors(profile, cyclic(2), ridge=0.0)[0, 1].round(decimals=4)
    tensor(0.8476, dtype=torch.float64)
    """
    check_profile(profile, group)
    check_ridge(ridge)
    if len(profile) < 2:
        raise InputError("expected the profile of two orbits or more, got one; a pair needs two")
    errors = profile.new_full(profile.shape[:2], float("nan"))
    for s in range(len(profile)):
        others = torch.arange(len(profile), device=profile.device) != s
        errors[s, others] = spectral_error(pair_spectra(profile, group, s)[others], ridge)
    return errors


@explained
def mean_pair_error(errors: Float[Tensor, "m m"], classes: Int64[Tensor, "k"]) -> Float[Tensor, ""]:
    """The paper's error of two classes with many samples: the mean over all pairs across them (section 3.4).

    Args:
        errors: Errors of every two orbits, from `pair_errors`.
        classes: The class of each sample; exactly two different ones.

    Raises:
        InputError: Errors that are not of pairs, not two classes, or not one for each sample.

    >>> errors = torch.tensor([[9.0, 1.0, 3.0], [1.0, 9.0, 9.0], [3.0, 9.0, 9.0]])
    >>> mean_pair_error(errors, torch.tensor([4, 7, 7]))
    tensor(2.)
    """
    check_errors(errors)
    check_sample_classes(classes, len(errors))
    which = classes.unique()
    if len(which) != 2:
        raise InputError(f"the pair average is over two classes, got {len(which)}; use one_versus_many")
    return errors[classes == which[0]][:, classes == which[1]].mean()


@final
@dataclass(frozen=True, eq=False)
class OneVersusMany:
    """What the one-versus-many rule predicts.

    Attributes:
        prediction: `[m, classes]`, the mean pairwise prediction against each class; NaN for a sample's own.
        correct: Whether all predictions of a sample are positive.
        classes: The classes, in the order of the columns.
        class_accuracy: Share of correct samples in each class, the one that has an element missing.
        accuracy: Their mean.
    """

    prediction: Float[Tensor, "m c"]
    correct: Bool[Tensor, "m"]
    classes: Int64[Tensor, "c"]
    class_accuracy: Float[Tensor, "c"]
    accuracy: float


@explained
def one_versus_many(errors: Float[Tensor, "m m"], classes: Int64[Tensor, "k"]) -> OneVersusMany:
    """The paper's rule for many classes: an orbit is right iff it wins against every other class on average.

    `prediction(s, C) = mean over t in C of 1 - eps_st`; sample s is correct iff all are positive (section
    3.4).

    Args:
        errors: Errors of every two orbits, from `pair_errors`.
        classes: The class of each sample.

    Raises:
        InputError: Errors that are not of pairs, fewer than two classes, or not one for each sample.

    >>> eps = torch.tensor([[9.0, 0.5, 1.5], [0.5, 9.0, 0.2], [1.5, 0.2, 9.0]])
    >>> one_versus_many(eps, torch.tensor([0, 1, 2])).correct.tolist()
    [False, True, False]
    """
    check_errors(errors)
    check_sample_classes(classes, len(errors))
    which = classes.unique()
    if len(which) < 2:
        raise InputError("one-versus-many needs two classes or more, got one")
    member = classes[:, None] == which
    columns = [(1 - errors[:, member[:, c]]).mean(1) for c in range(len(which))]
    prediction = torch.stack(columns, dim=1).masked_fill(member, float("nan"))
    correct = ((prediction > 0) | member).all(1)
    share = torch.stack([correct[member[:, c]].to(errors.dtype).mean() for c in range(len(which))])
    return OneVersusMany(prediction, correct, which, share, float(share.mean()))


def check_errors(errors: Shaped[Tensor, "*shape"]) -> None:
    """Refuses what is not one error for every two samples."""
    if errors.ndim != 2 or errors.shape[0] != errors.shape[1]:
        raise InputError(
            "errors: expected one for every two samples, [samples, samples], from pair_errors; got shape "
            f"{tuple(errors.shape)}"
        )
