"""Exact symmetries: null spaces of the invariance constraints, and the Lie algebras they form."""
