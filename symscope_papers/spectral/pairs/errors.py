"""Every error of pairs of orbits at once: kernel regression, Eq. 7, and the exact group form.

Everything is batched over pairs and runs on the device of its inputs. Points are in the order of the orbits:
first the n angles of digit A, then those of digit B; A has the label +1 and B -1.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.numerics import check_ridge
from symscope.spectral.circulant import circulant_spectrum, inverse_spectrum, spectral_error
from symscope_papers.spectral.pairs.orbits import orbit_signs

SYMMETRIC = 1e-9  # of the largest entry: rounding of a kernel stays far below
SINGULAR = 1e-13  # of the largest eigenvalue: below it a block of the projected kernel is zero to rounding


def exact_errors(gram: Float[Tensor, "pairs p p"], ridge: float) -> Float[Tensor, "pairs 2 n"]:
    """The error of kernel regression at each point, left out alone: `y_i (P y)_i / P_ii`.

    Args:
        gram: K of every pair, orbit after orbit.
        ridge: Absolute ridge.

    Returns:
        `errors[:, s, g]`; the mean over s is the paper's symmetrised error, g = 0 the upright images.

    Raises:
        InputError: Not kernel matrices of two orbits, or a negative ridge.
        SingularKernelError: A matrix that is singular to rounding.

    >>> K = torch.tensor([[[2.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    >>> exact_errors(K, ridge=0.0).round(decimals=9).tolist()
    [[[2.0], [1.5]]]
    """
    check_ridge(ridge)
    n = check_pairs(gram)
    regular = gram + ridge * torch.eye(2 * n, dtype=gram.dtype, device=gram.device)
    factor, failed = torch.linalg.cholesky_ex(regular)
    if bool(failed.any()):
        which = failed.nonzero()[:, 0].tolist()
        raise SingularKernelError(
            f"the kernel matrices of pairs {which[:8]} with ridge {ridge:g} are singular to rounding: points "
            "repeat or nearly do; leave these pairs out, or use a larger ridge"
        )
    precision = torch.cholesky_inverse(factor)
    signs = orbit_signs(n).to(gram)
    return (signs * (precision @ signs) / precision.diagonal(dim1=1, dim2=2)).unflatten(1, (2, n))


def pair_profiles(gram: Float[Tensor, "pairs p p"]) -> Float[Tensor, "pairs 2 2 n"]:
    """The group-projected profile of every pair, `kappa_st(d) = mean_g k(g x_s, g d x_t)`, cyclic group.

    Raises:
        InputError: Not kernel matrices of two orbits.

    >>> K = torch.tensor([[[2.0, 1.0], [1.0, 4.0]]], dtype=torch.float64)
    >>> pair_profiles(K).tolist()
    [[[[2.0], [1.0]], [[1.0], [4.0]]]]
    """
    n = check_pairs(gram)
    cells = gram.unflatten(2, (2, n)).unflatten(1, (2, n))  # [p, s, g, t, h]
    g = torch.arange(n, device=gram.device)
    shifted = cells[:, :, g[:, None], :, (g[:, None] + g) % n]  # [g, d, p, s, t]
    return shifted.mean(0).permute(1, 2, 3, 0)


def pair_spectra(profile: Float[Tensor, "pairs 2 2 n"]) -> Float[Tensor, "pairs f"]:
    """The spectrum of each pair's circularised matrix (Eq. 12), 2n frequencies, n the labels' own.

    Averaging wrapped diagonals of the interleaved matrix leaves `row[2k] = (kappa_AA(k) + kappa_BB(k)) / 2`
    and `row[2k + 1] = (kappa_AB(k) + kappa_AB(-k - 1)) / 2`.

    >>> profile = torch.tensor([[[[2.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]]]], dtype=torch.float64)
    >>> pair_spectra(profile).tolist()
    [[3.0, 2.0, 1.0, 2.0]]
    """
    across = profile[:, 0, 1]
    rows = torch.stack(
        [(profile[:, 0, 0] + profile[:, 1, 1]) / 2, (across + across.flip(-1)) / 2], dim=-1
    ).flatten(1)
    return circulant_spectrum(rows)


def projected_errors(profile: Float[Tensor, "pairs 2 2 n"], ridge: float) -> Float[Tensor, "pairs 2"]:
    """The exact error of the group-projected kernel at a missing point of each orbit.

    `eps_a = y_a (K_hat(0)^-1 y)_a / mean_f (K_hat(f)^-1)_aa`, one 2 x 2 block for each frequency: nothing is
    circularised or interleaved.

    Args:
        profile: Profiles from `pair_profiles`.
        ridge: Absolute ridge.

    Raises:
        InputError: A negative ridge.
        SingularKernelError: A block that is singular to rounding.

    >>> K = torch.tensor([[[2.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    >>> projected_errors(pair_profiles(K), ridge=0.0).tolist()
    [[2.0, 1.5]]
    """
    check_ridge(ridge)
    blocks = torch.fft.fft(profile).permute(0, 3, 1, 2)  # [pairs, f, 2, 2]
    blocks = (blocks + blocks.mH) / 2 + ridge * torch.eye(2, dtype=blocks.dtype, device=blocks.device)
    values = torch.linalg.eigvalsh(blocks)
    lowest, highest = values.amin((1, 2)), values.amax((1, 2))
    bad = (lowest <= SINGULAR * highest).nonzero()[:, 0].tolist()
    if bad:
        raise SingularKernelError(
            f"the projected kernels of pairs {bad[:8]} have a frequency that is zero to rounding with ridge "
            f"{ridge:g}; use symscope.spectral.leave_out, which takes the limit exactly and explains it"
        )
    inverse = torch.linalg.inv(blocks)
    signs = torch.tensor([1.0, -1.0], dtype=profile.dtype, device=profile.device)
    numerator = inverse[:, 0].real @ signs
    return signs * numerator / inverse.diagonal(dim1=2, dim2=3).real.mean(1)


@final
@dataclass(frozen=True, eq=False)
class PairErrors:
    """Every error of some pairs, one number per pair.

    Attributes:
        exact: Error of kernel regression, the upright image missing, averaged over which orbit loses it.
        mean_exact: Error of kernel regression, averaged over the missing angle as well.
        spectral: The paper's `eps_s` (Eq. 7) of the circularised kernel.
        projected: Error by the exact group form of the projected kernel, averaged over the two orbits.
        departure: Invariance error of the kernel, `|K - projected K| / |K|`.
        circularised: What circularising moves (Eq. 12), `|K - circulant K| / |K|`.
        orbit_gap: Largest distance of an entry of a single orbit's block from the circulant one, relative to
            the largest entry (assumption 1).
        diagonal_spread: Largest minus smallest entry of the diagonal, relative to the largest.
        lambda_n: The eigenvalue at the labels' frequency.
        mean_inverse: `mean(lambda^-1)`.
        spectra: `[pairs, 2n]`, the circularised spectra.
    """

    exact: Float[Tensor, "pairs"]
    mean_exact: Float[Tensor, "pairs"]
    spectral: Float[Tensor, "pairs"]
    projected: Float[Tensor, "pairs"]
    departure: Float[Tensor, "pairs"]
    circularised: Float[Tensor, "pairs"]
    orbit_gap: Float[Tensor, "pairs"]
    diagonal_spread: Float[Tensor, "pairs"]
    lambda_n: Float[Tensor, "pairs"]
    mean_inverse: Float[Tensor, "pairs"]
    spectra: Float[Tensor, "pairs f"]

    def columns(self) -> dict[str, Float[Tensor, "pairs"]]:
        """All but the spectra, as columns of a table."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "spectra"}


def pair_errors(
    gram: Float[Tensor, "pairs p p"], ridge: float, spectral_ridge: float | None = None
) -> PairErrors:
    """Exact, spectral and group-projected errors of every pair, with one ridge for all three.

    Args:
        gram: K of every pair, orbit after orbit (`kernel.batched(rotated(...).flatten(1, 2))`).
        ridge: What is added to the diagonal, as a share of the trace.
        spectral_ridge: Another ridge for the spectral error alone, as in the authors' scripts.

    Raises:
        InputError: Not kernel matrices of two orbits, or a negative ridge.
        SingularKernelError: A matrix or a block of it that is singular to rounding.

    >>> K = torch.tensor([[[2.0, 1.0], [1.0, 2.0]]], dtype=torch.float64)
    >>> result = pair_errors(K, ridge=0.0)
    >>> [round(float(e), 6) for e in (result.exact, result.spectral, result.projected)]
    [1.5, 1.5, 1.5]
    """
    n = check_pairs(gram)
    trace = gram.diagonal(dim1=1, dim2=2).sum(1)
    unit = (
        gram / trace[:, None, None] if ridge or spectral_ridge else gram
    )  # errors do not depend on the scale
    exact = exact_errors(unit, ridge).mean(1)
    profile, spectra = pair_profiles(gram), pair_spectra(pair_profiles(gram))
    whole = gram.square().sum((1, 2))
    away = (whole - n * profile.square().sum((1, 2, 3))).clamp_min(0)  # both projections are orthogonal
    moved = (whole - spectra.square().sum(1)).clamp_min(0)
    diagonal = gram.diagonal(dim1=1, dim2=2)
    return PairErrors(
        exact[:, 0],
        exact.mean(1),
        spectral_error(
            pair_spectra(pair_profiles(unit)), ridge if spectral_ridge is None else spectral_ridge
        ),
        projected_errors(pair_profiles(unit), ridge).mean(1),
        (away / whole).sqrt(),
        (moved / whole).sqrt(),
        orbit_gaps(gram, profile),
        (diagonal.amax(1) - diagonal.amin(1)) / diagonal.amax(1),
        spectra[:, n],
        inverse_spectrum(spectra, 0.0).mean(1),
        spectra,
    )


def orbit_gaps(
    gram: Float[Tensor, "pairs p p"], profile: Float[Tensor, "pairs 2 2 n"]
) -> Float[Tensor, "pairs"]:
    """How far the blocks of the two single orbits are from circulant, relative to the largest entry.

    >>> K = torch.tensor([[[2.0, 1.0], [1.0, 4.0]]], dtype=torch.float64)
    >>> orbit_gaps(K, pair_profiles(K)).tolist()
    [0.0]
    """
    n = profile.shape[-1]
    g = torch.arange(n, device=gram.device)
    gaps = [
        gram[:, s * n : (s + 1) * n, s * n : (s + 1) * n] - profile[:, s, s][:, (g - g[:, None]) % n]
        for s in (0, 1)
    ]
    return torch.stack(gaps).abs().amax((0, 2, 3)) / gram.abs().amax((1, 2))


def check_pairs(gram: Float[Tensor, "pairs p q"]) -> int:
    """The number of angles of kernel matrices over two orbits, if they are that.

    Raises:
        InputError: Not square, odd, not finite or not symmetric.
    """
    if gram.shape[0] < 1 or gram.shape[1] != gram.shape[2] or gram.shape[1] % 2 or gram.shape[1] == 0:
        raise InputError(
            f"expected kernel matrices of pairs, [pairs, 2n, 2n] over two orbits, got {tuple(gram.shape)}"
        )
    if not bool(gram.isfinite().all()):
        raise InputError("the kernel matrices have entries that are not finite; look at the images")
    gap = float((gram - gram.mT).abs().max())
    if gap > SYMMETRIC * float(gram.abs().max()):
        raise InputError(f"a kernel matrix is symmetric; these differ from their transposes by {gap:.3g}")
    return gram.shape[1] // 2
