"""Kernels of finite networks: products and eigenpairs for those who cannot afford the matrix; features."""

from symscope.kernels.finite._conjugate import hidden_activations
from symscope.kernels.finite._empirical_ntk import empirical_ntk_eigenpairs, empirical_ntk_product
from symscope.kernels.finite._weights_kernel import weights_kernel_eigenpairs, weights_kernel_product

__all__ = [
    "empirical_ntk_eigenpairs",
    "empirical_ntk_product",
    "hidden_activations",
    "weights_kernel_eigenpairs",
    "weights_kernel_product",
]
