"""Pairs of orbits of digits, what the experiments on them share: data, kernels, errors, their tables."""
