"""Experiments on "On the Ability of Deep Networks to Learn Symmetries from Data: A Neural Kernel Theory".

Sentences of the paper that have no claim, and why:

- Sec. 2, on other papers' findings, and Sec. 4, on cognition and future work: not results of this paper.
- Sec. 3.1 and 4, "a precise account", "no abrupt change in generalization performance": no criterion; the
  curves are in `spectral/networks` and `spectral/classes`.
- Sec. 3.2, the areas under the inverse spectrum: Eq. 7 in other words, shown in the figures.
- Sec. 3.3, on a perfect "o" and a "Dirac delta" image: limits that digits on a grid do not reach.
- Sec. 3.5.3, why global pooling succeeds, and why the formula then fails: a speculation and an interpretation
  by the paper's own words. `spectral/conv-rotations` measures how near the exact group form comes.
- Sec. 4, that difficulty grows with the number of transformations: an expectation, not a result.

Figures, whose numbers the text does not have, are compared by their captions and the sentences about them.
"""

from __future__ import annotations

PAPER = "On the Ability of Deep Networks to Learn Symmetries from Data: A Neural Kernel Theory"

__all__ = ["PAPER"]
