"""Whole chains of layers in one pass of compiled code, nothing but the answer written to memory.

The plain propagation reads and writes every covariance once per layer, so memory bounds it; here each
covariance stays in registers from the first layer to the last. For convolutions that works because both
positions move together: the displacement between them never changes, so each displacement is a network of its
own on one small map. The kernels are those of Lee et al. 2019 (dense) and Arora et al. 2019 (CNTK). The plain
propagation is the oracle and the fallback: a network that is not such a chain never comes here.
"""
