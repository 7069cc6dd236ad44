"""Will it generalise? Regression on orbits with points left out: dense, circulant, exact for any group."""

from __future__ import annotations

from symscope.spectral._circles_spectrum import gaussian_circles_spectrum
from symscope.spectral._circulant import (
    circulant_spectrum,
    circularised,
    inverse_spectrum,
    spectral_error,
    spectral_prediction,
    spectral_residual,
)
from symscope.spectral._class_errors import (
    OneVersusMany,
    mean_pair_error,
    one_versus_many,
    pair_errors,
    pair_inverse_spectra,
    pair_spectra,
)
from symscope.spectral._dense import (
    leave_one_out_residuals,
    leave_out_residual,
    precision,
    regression,
)
from symscope.spectral._fourier_blocks import Quotient, fourier_block, fourier_blocks, quotient
from symscope.spectral._frequencies import Frequency, frequencies
from symscope.spectral._geometry import orbit_centres, orbit_densities, orbit_radii, orbit_separations
from symscope.spectral._irrep_parts import Part
from symscope.spectral._leave_out import assembled, leave_out
from symscope.spectral._leave_out_orbits import leave_out_orbits
from symscope.spectral._leave_out_result import IrrepShare, LeaveOut
from symscope.spectral._missing_sets import class_masks, missing_sets
from symscope.spectral._panels import Panels, empty_panels, flop_counts, invert_factor, solve
from symscope.spectral._profile import (
    ProjectedProfile,
    kernel_profile,
    profile_gram,
    projected_profile,
    unite,
)
from symscope.spectral._streaming import (
    filled_panels,
    irrep_batches,
    leave_out_streamed,
    orbits_per_panel,
    panel_part,
    set_bytes,
    tile_budget,
)
from symscope.spectral._symmetrised import mean_set_error, symmetrised_error

__all__ = [
    "Frequency",
    "IrrepShare",
    "LeaveOut",
    "OneVersusMany",
    "Panels",
    "Part",
    "ProjectedProfile",
    "Quotient",
    "assembled",
    "circulant_spectrum",
    "circularised",
    "class_masks",
    "empty_panels",
    "filled_panels",
    "flop_counts",
    "fourier_block",
    "fourier_blocks",
    "frequencies",
    "gaussian_circles_spectrum",
    "inverse_spectrum",
    "invert_factor",
    "irrep_batches",
    "kernel_profile",
    "leave_one_out_residuals",
    "leave_out",
    "leave_out_orbits",
    "leave_out_residual",
    "leave_out_streamed",
    "mean_pair_error",
    "mean_set_error",
    "missing_sets",
    "one_versus_many",
    "orbit_centres",
    "orbit_densities",
    "orbit_radii",
    "orbit_separations",
    "orbits_per_panel",
    "pair_errors",
    "pair_inverse_spectra",
    "pair_spectra",
    "panel_part",
    "precision",
    "profile_gram",
    "projected_profile",
    "quotient",
    "regression",
    "set_bytes",
    "solve",
    "spectral_error",
    "spectral_prediction",
    "spectral_residual",
    "symmetrised_error",
    "tile_budget",
    "unite",
]
