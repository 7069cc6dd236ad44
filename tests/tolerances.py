"""Every tolerance of the suite, with its reason."""

ROUNDING = 1e-12  # float64 results of short, well-conditioned computations
FOURIER = 1e-10  # numerically computed irreps: eigenvectors of random elements, gaps around 1e-3
ORACLE = 1e-10  # infinite-width kernels against another library, off the diagonal
ORACLE_DIAGONAL = 1e-8  # the other library's own arccos noise on Gram diagonals
QUADRATURE = 1e-6  # activations without closed form
MONTE_CARLO_SIGMAS = 4.0  # standard errors allowed: 1 false alarm in 16,000 comparisons
TILES = 1e-14  # the same entry from matrix products of different shapes: a few roundings of a sum
