"""Whole chains of layers in one pass on a GPU, nothing but the answer written to memory.

The plain propagation stays the oracle and the fallback: a network that is not such a chain never comes here.
"""
