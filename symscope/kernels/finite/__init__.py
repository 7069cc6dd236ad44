"""Kernels of networks of finite width: empirical NTK, conjugate kernel, weights kernel."""
