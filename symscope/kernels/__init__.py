"""What a wide network becomes: infinite-width, finite-width and classical kernels behind one interface."""

from symscope.kernels.classical import arc_cosine, linear, median_length_scale, polynomial, rbf
from symscope.kernels.conformance import assert_kernel_laws
from symscope.kernels.conjugate import activations, conjugate_kernel
from symscope.kernels.duals import (
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
from symscope.kernels.eigenpairs import Eigenpairs, top_eigenpairs
from symscope.kernels.gpytorch_adapter import as_gpytorch
from symscope.kernels.gram import batched_gram, gram
from symscope.kernels.health import Health, health
from symscope.kernels.infinite import InfiniteWidth, infinite_width, kernels_of
from symscope.kernels.kernel import Kernel
from symscope.kernels.network import Network
from symscope.kernels.prediction import (
    Prediction,
    gradient_descent_prediction,
    gradient_flow_prediction,
    nngp_posterior,
    ntk_ensemble_prediction,
)
from symscope.kernels.sklearn_adapter import as_sklearn, as_sklearn_process
from symscope.kernels.storage import open_gram
from symscope.kernels.tangent import (
    empirical_ntk,
    empirical_ntk_blocks,
    empirical_ntk_eigenpairs,
    ntk_vector_product,
)
from symscope.kernels.unsupported import UnsupportedLayer
from symscope.kernels.weights_kernel import (
    weights_kernel,
    weights_kernel_eigenpairs,
    weights_kernel_product,
    weights_kernel_spectrum,
)

__all__ = [
    "Abs",
    "ChannelNorm",
    "Cos",
    "Eigenpairs",
    "Elementwise",
    "Erf",
    "Exp",
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
    "top_eigenpairs",
    "weights_kernel",
    "weights_kernel_eigenpairs",
    "weights_kernel_product",
    "weights_kernel_spectrum",
]
