"""Runs from E under every strategy: what `permutation`, `translation` and `rotation` (Fig. 1) share."""
