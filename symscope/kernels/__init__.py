"""What a wide network becomes: infinite-width, finite-width and classical kernels behind one interface."""

from symscope.kernels._classical import arc_cosine, linear, median_length_scale, polynomial, rbf
from symscope.kernels._conformance import assert_kernel_laws
from symscope.kernels._gram._gram import batched_gram, gram
from symscope.kernels._gram._health import Health, health
from symscope.kernels._gram._storage import open_gram
from symscope.kernels._kernel import Kernel
from symscope.kernels._prediction import (
    Prediction,
    gradient_descent_prediction,
    gradient_flow_prediction,
    nngp_posterior,
    ntk_ensemble_prediction,
)
from symscope.kernels._unsupported import UnsupportedLayer
from symscope.kernels.activations import (
    Abs,
    ChannelNorm,
    Cos,
    Elementwise,
    Erf,
    Exp,
    Gaussian,
    Monomial,
    PiecewiseLinear,
    Sign,
    Sin,
)
from symscope.kernels.adapters._gpytorch import as_gpytorch
from symscope.kernels.adapters._sklearn import as_sklearn, as_sklearn_process
from symscope.kernels.finite._conjugate import activations, conjugate_kernel
from symscope.kernels.finite._empirical_ntk import (
    empirical_ntk,
    empirical_ntk_blocks,
    empirical_ntk_eigenpairs,
    ntk_vector_product,
)
from symscope.kernels.finite._weights_kernel import (
    weights_kernel,
    weights_kernel_eigenpairs,
    weights_kernel_product,
    weights_kernel_spectrum,
)
from symscope.kernels.infinite._infinite_width import InfiniteWidth, infinite_width, kernels_of
from symscope.kernels.infinite._wide_network import Extent, Network

__all__ = [
    "Abs",
    "ChannelNorm",
    "Cos",
    "Elementwise",
    "Erf",
    "Exp",
    "Extent",
    "Gaussian",
    "Health",
    "InfiniteWidth",
    "Kernel",
    "Monomial",
    "Network",
    "PiecewiseLinear",
    "Prediction",
    "Sign",
    "Sin",
    "UnsupportedLayer",
    "activations",
    "arc_cosine",
    "as_gpytorch",
    "as_sklearn",
    "as_sklearn_process",
    "assert_kernel_laws",
    "batched_gram",
    "conjugate_kernel",
    "empirical_ntk",
    "empirical_ntk_blocks",
    "empirical_ntk_eigenpairs",
    "gradient_descent_prediction",
    "gradient_flow_prediction",
    "gram",
    "health",
    "infinite_width",
    "kernels_of",
    "linear",
    "median_length_scale",
    "nngp_posterior",
    "ntk_ensemble_prediction",
    "ntk_vector_product",
    "open_gram",
    "polynomial",
    "rbf",
    "weights_kernel",
    "weights_kernel_eigenpairs",
    "weights_kernel_product",
    "weights_kernel_spectrum",
]
