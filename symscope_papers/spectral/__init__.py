"""Experiments on "On the Ability of Deep Networks to Learn Symmetries from Data: A Neural Kernel Theory".

docs/results/sentences.md lists its sentences, with the experiments that test them or why none does. Figures,
whose numbers the text does not have, are compared by their captions and the sentences about them.
"""

from __future__ import annotations

PAPER = "On the Ability of Deep Networks to Learn Symmetries from Data: A Neural Kernel Theory"

__all__ = ["PAPER"]
