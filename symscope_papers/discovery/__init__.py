"""Experiments on "Finding Symmetry in Neural Network Parameter Spaces".

docs/results/sentences.md lists its sentences, with the experiments that test them or why none does. Fig. 2 to
6 are pictures without numbers: h of Fig. 2 is compared by its pattern, the others by the fields.
"""

from __future__ import annotations

PAPER = "Finding Symmetry in Neural Network Parameter Spaces"

__all__ = ["PAPER"]
