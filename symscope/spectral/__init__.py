"""Will it generalise? Regression on orbits with points left out: dense, circulant, exact for any group."""

from __future__ import annotations

from symscope.spectral.blocks import Quotient, fourier_block, fourier_blocks, quotient
from symscope.spectral.circles import gaussian_circles_spectrum
from symscope.spectral.circulant import (
    circulant_spectrum,
    circularised,
    inverse_spectrum,
    spectral_error,
    spectral_prediction,
    spectral_residual,
)
from symscope.spectral.classes import (
    OneVersusMany,
    mean_pair_error,
    one_versus_many,
    pair_errors,
    pair_inverse_spectra,
    pair_spectra,
)
from symscope.spectral.dense import leave_one_out_residuals, leave_out_residual, precision, regression
from symscope.spectral.frequencies import Frequency, frequencies
from symscope.spectral.geometry import orbit_centres, orbit_densities, orbit_radii, orbit_separations
from symscope.spectral.leave_out import leave_out
from symscope.spectral.missing import class_masks
from symscope.spectral.orbits import leave_out_orbits
from symscope.spectral.profile import ProjectedProfile, kernel_profile, profile_gram, projected_profile
from symscope.spectral.result import IrrepShare, LeaveOut
from symscope.spectral.streaming import leave_out_streamed
from symscope.spectral.symmetrised import mean_set_error, symmetrised_error

__all__ = [
    "Frequency",
    "IrrepShare",
    "LeaveOut",
    "OneVersusMany",
    "ProjectedProfile",
    "Quotient",
    "circulant_spectrum",
    "circularised",
    "class_masks",
    "fourier_block",
    "fourier_blocks",
    "frequencies",
    "gaussian_circles_spectrum",
    "inverse_spectrum",
    "kernel_profile",
    "leave_one_out_residuals",
    "leave_out",
    "leave_out_orbits",
    "leave_out_residual",
    "leave_out_streamed",
    "mean_pair_error",
    "mean_set_error",
    "one_versus_many",
    "orbit_centres",
    "orbit_densities",
    "orbit_radii",
    "orbit_separations",
    "pair_errors",
    "pair_inverse_spectra",
    "pair_spectra",
    "precision",
    "profile_gram",
    "projected_profile",
    "quotient",
    "regression",
    "spectral_error",
    "spectral_prediction",
    "spectral_residual",
    "symmetrised_error",
]
