"""Every tolerance of the suite, with its reason."""

ROUNDING = 1e-12  # float64 results of short, well-conditioned computations
FOURIER = 1e-10  # numerically computed irreps: eigenvectors of random elements, gaps around 1e-3
ORACLE = 1e-10  # infinite-width kernels against another library, off the diagonal
ORACLE_DIAGONAL = 1e-8  # the other library's own arccos noise on Gram diagonals
QUADRATURE = 1e-6  # activations without closed form
MONTE_CARLO_SIGMAS = 4.0  # standard errors allowed: 1 false alarm in 16,000 comparisons
TILES = 1e-14  # the same entry from matrix products of different shapes: a few roundings of a sum
CLOSE_POINTS = (
    1e-12  # squared distances: the expanded square may lose two digits before differences take over
)
LANCZOS = 1e-8  # eigenpairs asked for to 1e-10 relative; vectors are good to the residual over the gap
ODE = 1e-8  # closed-form flows against a solver run at 1e-11
LEAVE_OUT_ORACLE = 1e-10  # relative; leave-one-out errors of well-conditioned kernels, or ridge 1e-5
LEAVE_OUT_FAINT = 1e-5  # relative; the same with a ridge of 1e-10 on a matrix that is singular without it
SUB_PIXEL = 0.05  # areas and centroids of shapes that are 20 points across, 8 x 8 points per pixel
LEAVE_OUT = 1e-9  # residuals of random problems whose conditioning is a few hundred
SINGLE = 1e-5  # float32 results of short computations, relative to the largest
GROUP_LEAVE_OUT = 1e-8  # leave-out through irreps found numerically to 1e-10, conditioning of a few hundred
STACKED = 1e-10  # weights after some tens of steps, copies trained together against one by one
COINCIDENT = 3e-8  # two computations of the angle at c = 1 or -1, each off by sqrt(2 eps) = 2.1e-8

# predictions of kernel regression by two exact ways: rounding times the kernel's condition number, up to 1e5
DENSE_PREDICTION = 1e-9
DYNAMICS = 1e-10  # the lemmas of augmented training: short sums in float64, an ODE solver run at 1e-10
TRAINED_SINGLE = 1e-3  # outputs of float32 networks after tens of steps, copies together against one by one
NULL_SPACE = 1e-9  # null vectors of constraints with singular values down to 1e-2: rounding over the gap
