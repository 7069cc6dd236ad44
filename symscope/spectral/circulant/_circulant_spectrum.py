"""The paper's theory: two interleaved orbits, a circulant kernel, the error as a ratio of eigenvalues.

2N points in the order A0, B0, A1, B1, .. with labels +1, -1, +1, -1, ..; index N of the spectrum is the
alternating frequency, the labels' own.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.numerics import check_ridge, checked
from symscope.spectral._matrix_checks import (
    allowed_gap,
    check_gram,
    check_missing,
    check_real,
    real_labels,
)

MIRRORED = 1e-9  # of the largest entry: how far row[d] may be from row[n - d]


@checked
def circulant_row(gram: Float[Tensor, "n n"]) -> Float[Tensor, "n"]:
    """The first row of the nearest circulant matrix: the average over every wrapped diagonal.

    `row[d] = mean_i K[i, i + d mod n]`, the projection on circulants; a circulant K gives its own first row.

    Args:
        gram: K over interleaved orbits, symmetric.

    Raises:
        InputError: Not a kernel matrix, or over an odd number of points.

    >>> circulant_row(torch.tensor([[2.0, 1.0], [1.0, 4.0]], dtype=torch.float64)).tolist()
    [3.0, 1.0]
    """
    check_gram(gram)
    if len(gram) % 2:
        raise InputError(f"two interleaved orbits have an even number of points, got {len(gram)}")
    n = len(gram)
    row = torch.arange(n, device=gram.device)
    wrapped = gram[row[:, None], (row[:, None] + row[None, :]) % n]
    return wrapped.mean(0)


@checked
def circulant_spectrum(row: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
    """The eigenvalues of the symmetric circulant matrix with this first row: its discrete Fourier transform.

    `lambda_f = sum_d row[d] exp(-2 pi i f d / n)`, real because row[d] = row[n - d]. Eigenvalues that are
    nothing but rounding, below 1e-15 of the largest in float64, are given as zero.

    Args:
        row: First rows.

    Raises:
        InputError: A row that belongs to no symmetric matrix.

    >>> circulant_spectrum(torch.tensor([2.0, 1.0, 0.0, 1.0], dtype=torch.float64)).tolist()
    [4.0, 2.0, 0.0, 2.0]
    """
    if row.ndim < 1 or row.shape[-1] < 1:
        raise InputError(f"expected first rows of one entry or more, got shape {tuple(row.shape)}")
    check_real("the first row of a kernel matrix", row)
    mirrored = row.flip(-1).roll(1, -1)
    gap = float((row - mirrored).abs().max())
    if not gap <= allowed_gap(MIRRORED, row.dtype) * max(float(row.abs().max()), 1e-300):
        raise InputError(
            f"the first row of a symmetric circulant matrix has row[d] = row[n - d]; off by {gap:.3g}"
        )
    spectrum = torch.fft.fft((row + mirrored) / 2).real
    known = spectrum.abs() > 4 * torch.finfo(row.dtype).eps * spectrum.abs().amax(-1, keepdim=True)
    return torch.where(known, spectrum, 0.0)


@checked
def spectral_error(spectrum: Float[Tensor, "*batch n"], ridge: float) -> Float[Tensor, "*batch"]:
    """The error at one missing point (Eq. 7): `eps_s = lambda_N^-1 / mean(lambda^-1)`, n = 2N frequencies.

    The prediction there is `1 - eps_s` times the true label: wrong when `eps_s > 1`.

    Args:
        spectrum: Eigenvalues in the order of the discrete Fourier transform.
        ridge: Number added to every eigenvalue.

    Raises:
        InputError: An odd number of frequencies, or a negative ridge.
        SingularKernelError: An eigenvalue that is not positive.

    >>> spectral_error(torch.tensor([4.0, 2.0, 1.0, 2.0], dtype=torch.float64), ridge=0.0)
    tensor(1.7778, dtype=torch.float64)
    """
    inverse = inverse_spectrum(spectrum, ridge)
    return inverse[..., inverse.shape[-1] // 2] / inverse.mean(-1)


@checked
def inverse_spectrum(spectrum: Float[Tensor, "*batch n"], ridge: float) -> Float[Tensor, "*batch n"]:
    """The inverse spectrum whose areas are the paper's picture: `1 / (lambda + ridge)`.

    Eq. 7 compares the rectangle of height `lambda_N^-1` with the area under this curve.

    Args:
        spectrum: Eigenvalues.
        ridge: Number added to every eigenvalue.

    Raises:
        InputError: As for `spectral_error`.

    >>> inverse_spectrum(torch.tensor([4.0, 2.0], dtype=torch.float64), ridge=0.0).tolist()
    [0.25, 0.5]
    """
    check_ridge(ridge)
    if spectrum.ndim < 1 or spectrum.shape[-1] % 2 or spectrum.numel() == 0:
        raise InputError(
            "two interleaved orbits have an even number of frequencies, 2 or more; got shape "
            f"{tuple(spectrum.shape)}"
        )
    check_real("a spectrum", spectrum)
    if not bool(spectrum.isfinite().all()):
        raise InputError("the spectrum has eigenvalues that are not finite; look at the kernel's inputs")
    regular = spectrum + ridge
    smallest = float(regular.min())
    if not smallest > 0:
        raise SingularKernelError(
            f"the spectrum has an eigenvalue that is not positive ({smallest:.3g} with ridge {ridge:g}): the "
            "kernel matrix is singular to rounding; remove repeated points or use a larger ridge"
        )
    return 1 / regular


@checked
def spectral_residual(
    spectrum: Float[Tensor, "n"], labels: Float[Tensor, "labels"], missing: Int64[Tensor, "m"], ridge: float
) -> Float[Tensor, "m"]:
    """True label minus prediction at several missing points of a circulant problem (App. A.1).

    P is circulant with first row `p = ifft(1 / (lambda + ridge))`, so the m x m system
    `P_MM residual = (P y)_M` has `P_ij = p[j - i]`; one missing point and alternating labels give Eq. 7.

    Args:
        spectrum: Eigenvalues.
        labels: Labels of all points; any, not only alternating ones.
        missing: The positions left out.
        ridge: Number added to every eigenvalue.

    Raises:
        InputError: As for `spectral_error`, and for labels or missing points that do not fit.

    >>> spectrum = torch.tensor([4.0, 2.0, 1.0, 2.0], dtype=torch.float64)
    >>> labels = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    >>> spectral_residual(spectrum, labels, torch.tensor([1]), ridge=0.0).round(decimals=4).tolist()
    [-1.7778]
    """
    inverse = inverse_spectrum(spectrum, ridge)
    if inverse.ndim != 1:
        raise InputError(f"expected the spectrum of one problem, got shape {tuple(spectrum.shape)}")
    n = len(spectrum)
    labels = real_labels(labels, n, spectrum)
    if labels.ndim != 1:
        raise InputError(f"expected one number per point, got labels of shape {tuple(labels.shape)}")
    check_missing(missing, n)
    row = torch.fft.ifft(inverse).real
    weights = torch.fft.ifft(inverse * torch.fft.fft(labels)).real
    block = row[(missing[None, :] - missing[:, None]) % n]
    return torch.linalg.solve(block, weights[missing])
