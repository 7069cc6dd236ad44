"""The peer, neural-tangents 0.6.5, in a virtual environment of its own: its JAX must not meet our torch."""
