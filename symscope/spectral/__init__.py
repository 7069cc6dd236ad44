"""Will it generalise? Kernel regression on whole orbits with points left out, exact for any finite group.

`leave_out_orbits` answers in one call; the other names are its steps. For papers, benchmarks and specialists:

- `symscope.spectral.circulant`: the paper's theory of two interleaved orbits, errors of pairs and classes;
- `symscope.spectral.continuous`: kernels on whole orbits of continuous groups, or less a range of them;
- `symscope.spectral.dense`: the plain formulas for any kernel matrix, the reference for every faster form;
- `symscope.spectral.geometry`: how far orbits are apart in input space, and how dense;
- `symscope.spectral.irrep_blocks`: the blocks of a kernel, one for each irrep;
- `symscope.spectral.matrix_valued`: targets that turn, with kernels that are a matrix over outputs;
- `symscope.spectral.panels`: factorisation of large Hermitian matrices in panels;
- `symscope.spectral.streaming`: the steps of `leave_out_streamed`, to measure or schedule them.
"""

from __future__ import annotations

from symscope.spectral._coverage import CoverageRegression, coverage_cost, coverage_regression
from symscope.spectral._coverage_cost import CoverageCost
from symscope.spectral._leave_out import leave_out
from symscope.spectral._leave_out_orbits import leave_out_orbits
from symscope.spectral._leave_out_result import IrrepShare, LeaveOut
from symscope.spectral._missing_sets import class_masks
from symscope.spectral._profile import (
    ProjectedProfile,
    kernel_profile,
    profile_gram,
    projected_profile,
)
from symscope.spectral.dense import leave_out_residual, precision
from symscope.spectral.geometry import orbit_radii, orbit_separations
from symscope.spectral.streaming import leave_out_streamed

__all__ = [
    # kernel regression on the transformations that were seen, at full size
    "coverage_regression",
    "coverage_cost",
    "CoverageRegression",
    "CoverageCost",
    # from a kernel and an action to predictions at missing points
    "leave_out_orbits",
    "leave_out_streamed",
    "leave_out",
    "class_masks",
    "LeaveOut",
    "IrrepShare",
    # kernels over orbits as profiles
    "kernel_profile",
    "projected_profile",
    "ProjectedProfile",
    "profile_gram",
    # any kernel matrix
    "precision",
    "leave_out_residual",
    # orbits in input space
    "orbit_radii",
    "orbit_separations",
]
