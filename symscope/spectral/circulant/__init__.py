"""The paper's theory: two interleaved orbits, a circulant kernel, the error as a ratio of eigenvalues.

For readers of the paper and its reproductions. For predictions use `symscope.spectral.leave_out_orbits`,
exact for any number of orbits of any finite group.
"""

from symscope.spectral.circulant._circulant_spectrum import (
    circulant_row,
    circulant_spectrum,
    inverse_spectrum,
    spectral_error,
    spectral_residual,
)
from symscope.spectral.circulant._pair_errors import (
    OneVersusMany,
    mean_pair_error,
    one_versus_many,
    pair_errors,
    pair_spectra,
)

__all__ = [
    # one pair of orbits
    "circulant_row",
    "circulant_spectrum",
    "inverse_spectrum",
    "spectral_error",
    "spectral_residual",
    # several orbits and classes
    "pair_spectra",
    "pair_errors",
    "mean_pair_error",
    "one_versus_many",
    "OneVersusMany",
]
