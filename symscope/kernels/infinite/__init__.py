"""Kernels of infinitely wide networks: from a module to operations, and covariances through them."""
