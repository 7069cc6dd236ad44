"""The closed-form spectrum against the Fourier transform of the kernel, and the stored circle sweeps."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.data.synthetic import circles
from symscope.spectral import precision
from symscope.spectral.circulant import circulant_spectrum, spectral_error
from symscope.spectral.dense import leave_one_out_residuals
from symscope_papers.spectral.circles.gaussian_spectrum import gaussian_circles_spectrum
from tests.tolerances import LEAVE_OUT_ORACLE, ROUNDING

ORACLE = np.load(Path(__file__).parents[2] / "data" / "fixtures" / "circles.npz", allow_pickle=False)


def gram(points: int, distance: float, inverse_scale: float) -> torch.Tensor:
    x = circles(points, distance).x
    return torch.exp(-(inverse_scale**2) * ((x[:, None] - x[None]) ** 2).sum(-1))


@given(st.integers(2, 20), st.floats(0, 3), st.floats(0.2, 3))
def test_closed_form_is_the_fourier_transform_of_the_kernel(points, distance, inverse_scale):
    row = gram(points, distance, inverse_scale)[0]
    closed = gaussian_circles_spectrum(points, distance, inverse_scale)
    torch.testing.assert_close(closed, circulant_spectrum(row), rtol=0, atol=ROUNDING * 2 * points)


def test_closed_form_keeps_eigenvalues_that_rounding_hides():
    closed = gaussian_circles_spectrum(48, 1.0, 1.4)
    assert 0 < float(closed.min()) < 1e-16
    # the sum of eigenvalues is the trace, 2N, and that of their squares the squared norm
    assert float(closed.sum()) == pytest.approx(96, rel=1e-13)
    assert float((closed**2).sum()) == pytest.approx(float((gram(48, 1.0, 1.4) ** 2).sum()), rel=1e-13)


@pytest.mark.parametrize(("name", "sizes", "scale"), [("N", "Ns", "N_L"), ("d", "ds", "d_L")])
def test_both_errors_are_those_another_program_computed(name, sizes, scale):
    """Stored exact errors take the ridge relative to the 2N - 1 points left, spectral ones to all 2N."""
    s = float(ORACLE[scale])
    for index, size in enumerate(ORACLE[sizes]):
        points, distance = (
            (int(size), float(ORACLE["N_d"])) if name == "N" else (int(ORACLE["d_N"]), float(size))
        )
        k = gram(points, distance, s)
        spectrum = gaussian_circles_spectrum(points, distance, s)
        formula = float(spectral_error(spectrum, 1e-5 * 2 * points))
        assert formula == pytest.approx(ORACLE[f"{name}_spectral_err"][index], rel=LEAVE_OUT_ORACLE)
        labels = circles(points, distance).labels.double()
        exact = leave_one_out_residuals(precision(k, 1e-5 * (2 * points - 1)), labels) * labels
        stored = ORACLE[f"{name}_gp_err"][index]
        np.testing.assert_allclose(exact, stored, rtol=1e-8)  # error is 1e-4 of labels at large N


def test_without_ridge_the_stored_errors_agree_until_their_rounding():
    for index, points in enumerate(ORACLE["Ns"]):
        error = float(spectral_error(gaussian_circles_spectrum(int(points), 1.0, 1.4), 0.0))
        stored = ORACLE["N_spectral_err_reg0"][index]
        # stored through a Fourier transform: its eigenvalues are good to 1e-16, seen in their inverses
        smallest = float(gaussian_circles_spectrum(int(points), 1.0, 1.4).min())
        if smallest > 1e-12:
            assert error == pytest.approx(stored, rel=max(1e-10, 1e-14 / smallest))


@pytest.mark.parametrize("bad", [(1, 1.0, 1.0), (4, -1.0, 1.0), (4, 1.0, 0.0), (4, float("nan"), 1.0)])
def test_bad_circles_are_refused(bad):
    with pytest.raises(InputError, match="points >= 2"):
        gaussian_circles_spectrum(*bad)


@pytest.mark.parametrize("bad", [(2.5, 1.0, 1.0), ("4", 1.0, 1.0), (4, "1", 1.0)])
def test_circles_of_other_things_than_numbers_are_refused(bad):
    with pytest.raises(InputError, match="a whole number of points >= 2"):
        inspect.unwrap(gaussian_circles_spectrum)(
            *bad
        )  # the checks of the test suite would stop these earlier
