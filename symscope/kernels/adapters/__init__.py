"""Kernels for other libraries: scikit-learn and GPyTorch."""
