"""Kernels side by side with the peer library, in one run: `python -m benchmarks` (or `make bench`)."""
