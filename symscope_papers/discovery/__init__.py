"""Experiments on "Finding Symmetry in Neural Network Parameter Spaces".

Sentences of the paper that no experiment judges, and why:

- Abstract, Sec. 1, 5.4: "previously unknown" symmetries, what "has not been discovered in previous
  literature": about the literature. Sec. 1 and 2 on applications and on results of others: not its own.
- Sec. 3.1, 3.2: definitions. The diagram of Prop. 4.1 repeats it.
- Sec. 4: symmetries of the input space that layers do not keep: the example is that of another paper.
- Eq. 6, 8, 10: terms of an objective. What Eq. 8 leads to is measured (the length of fields); sparsity "for
  easier interpretation" is not.
- Fig. 2 to 6 are pictures without numbers: h of Fig. 2 is compared by its pattern, the others by the fields.
- Sec. 6: open questions, no statements; `number` answers two of them by measurements.
"""

from __future__ import annotations

PAPER = "Finding Symmetry in Neural Network Parameter Spaces"

__all__ = ["PAPER"]
