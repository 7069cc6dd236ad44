"""The paper's formula against the dense regression it stands for."""

from __future__ import annotations

import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.errors import SingularKernelError
from symscope.spectral import leave_out_residual, precision
from symscope.spectral.circulant import (
    circulant_row,
    circulant_spectrum,
    inverse_spectrum,
    spectral_error,
    spectral_residual,
)
from tests.spectral.problems import circulant, random_gram, random_labels, random_row
from tests.tolerances import LEAVE_OUT, ROUNDING

halves = st.integers(1, 8)
seeds = st.integers(0, 99)
ridges = st.sampled_from([0.0, 0.2])


def alternating(n: int) -> torch.Tensor:
    return 1.0 - 2.0 * (torch.arange(n, dtype=torch.float64) % 2)


@given(halves, seeds, ridges)
def test_spectral_error_is_the_dense_error_on_circulant_kernels(half, seed, ridge):
    row = random_row(2 * half, seed)
    labels = alternating(2 * half)
    for missing in (0, 2 * half - 1):
        dense = leave_out_residual(precision(circulant(row), ridge), labels, torch.tensor([missing]))
        formula = labels[missing] * spectral_error(circulant_spectrum(row), ridge)
        torch.testing.assert_close(formula, dense[0], rtol=0, atol=LEAVE_OUT)


@given(halves, seeds, ridges, st.data())
def test_several_missing_points_are_the_dense_residuals(half, seed, ridge, data):
    n = 2 * half
    row, labels = random_row(n, seed), random_labels(n, seed)
    missing = torch.tensor(
        data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 1, unique=True))
    )
    dense = leave_out_residual(precision(circulant(row), ridge), labels, missing)
    torch.testing.assert_close(
        spectral_residual(circulant_spectrum(row), labels, missing, ridge), dense, rtol=0, atol=LEAVE_OUT
    )


@given(halves, seeds)
def test_circularised_is_the_projection_on_circulant_matrices(half, seed):
    gram = random_gram(2 * half, seed)
    row = circulant_row(gram)
    assert torch.allclose(circulant_row(circulant(row)), row, atol=ROUNDING)
    # the rest is orthogonal to every circulant matrix
    rest = gram - circulant(row)
    for shift in range(2 * half):
        unit = torch.zeros(2 * half, dtype=torch.float64)
        unit[shift] = 1.0
        assert abs(float((rest * circulant(unit)).sum())) < 1e-10


@given(halves, seeds)
def test_spectrum_holds_the_eigenvalues(half, seed):
    row = random_row(2 * half, seed)
    eigenvalues = torch.linalg.eigvalsh(circulant(row))
    torch.testing.assert_close(circulant_spectrum(row).sort().values, eigenvalues, rtol=0, atol=ROUNDING)


def test_spectra_come_in_batches():
    rows = torch.stack([random_row(6, seed) for seed in range(3)])
    spectra = circulant_spectrum(rows)
    together = spectral_error(spectra, 0.1)
    alone = torch.stack([spectral_error(circulant_spectrum(row), 0.1) for row in rows])
    torch.testing.assert_close(together, alone, rtol=0, atol=ROUNDING)


def test_the_picture_is_a_ratio_of_areas():
    spectrum = circulant_spectrum(random_row(10, 4))
    inverse = inverse_spectrum(spectrum, 0.05)
    torch.testing.assert_close(
        spectral_error(spectrum, 0.05), 10 * inverse[5] / inverse.sum(), rtol=1e-12, atol=0
    )


def test_bad_rows_and_spectra_are_refused():
    with pytest.raises(InputError, match="row\\[d\\] = row\\[n - d\\]"):
        circulant_spectrum(torch.tensor([1.0, 0.5, 0.2, 0.1], dtype=torch.float64))
    with pytest.raises(InputError, match="row\\[d\\]"):
        circulant_spectrum(torch.tensor([1.0, float("nan")], dtype=torch.float64))
    with pytest.raises(InputError, match="even number of points"):
        circulant_row(random_gram(3, 0))
    with pytest.raises(InputError, match="even number of frequencies"):
        spectral_error(torch.ones(3, dtype=torch.float64), 0.0)
    with pytest.raises(SingularKernelError, match="not positive"):
        spectral_error(torch.tensor([1.0, 0.0], dtype=torch.float64), 0.0)
    with pytest.raises(InputError, match="ridge: expected a finite number"):
        spectral_error(torch.ones(2, dtype=torch.float64), -0.1)
    with pytest.raises(InputError, match="one label per point"):
        spectral_residual(
            torch.ones(4, dtype=torch.float64), torch.ones(3, dtype=torch.float64), torch.tensor([0]), 0.0
        )
    with pytest.raises(InputError, match="named twice"):
        spectral_residual(
            torch.ones(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64), torch.tensor([1, 1]), 0.0
        )


@given(seeds)
def test_frequencies_that_are_not_there_are_zero_not_rounding(seed):
    spectrum = 1 + torch.rand(12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    spectrum = (spectrum + spectrum.flip(0).roll(1)) / 2
    spectrum[[3, 9, 6]] = 0.0
    result = circulant_spectrum(torch.fft.ifft(spectrum).real)
    assert result[[3, 6, 9]].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(SingularKernelError, match="not positive"):
        spectral_error(result, 0.0)
    torch.testing.assert_close(result, spectrum, rtol=0, atol=ROUNDING)


def test_single_precision_goes_through():
    gram = random_gram(8, 0)
    one = spectral_error(circulant_spectrum(circulant_row(gram.float())), 0.1)
    torch.testing.assert_close(
        one.double(), spectral_error(circulant_spectrum(circulant_row(gram)), 0.1), rtol=1e-5, atol=0
    )


def test_spectra_and_labels_of_another_shape_are_refused():
    for bad in (torch.zeros(0), torch.tensor(1.0)):  # the checks of the test suite would stop them earlier
        with pytest.raises(InputError, match="one entry or more"):
            inspect.unwrap(circulant_spectrum)(bad)
        with pytest.raises(InputError, match="an even number of frequencies"):
            inspect.unwrap(inverse_spectrum)(bad, 0.0)
    with pytest.raises(InputError, match="not finite"):
        spectral_error(torch.tensor([1.0, torch.inf]), 0.0)
    with pytest.raises(InputError, match="one number per point"):
        inspect.unwrap(spectral_residual)(torch.ones(4), torch.ones(4, 2), torch.tensor([0]), 0.0)


def test_rows_and_spectra_of_other_numbers_are_refused():
    row, spectrum = map(inspect.unwrap, (circulant_spectrum, inverse_spectrum))
    whole = torch.tensor([2, 1, 0, 1])
    for bad in (whole, whole.cfloat()):
        with pytest.raises(InputError, match="is in float64 or float32"):
            row(bad)
        with pytest.raises(InputError, match="is in float64 or float32"):
            spectrum(bad, 0.1)
    with pytest.raises(InputError, match="spectrum of one problem"):
        inspect.unwrap(spectral_residual)(torch.ones(2, 4), torch.ones(2), torch.tensor([0]), 0.0)
