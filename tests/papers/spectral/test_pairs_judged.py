"""Relations that are linear, that are not, and that lie at the border."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscope.runs import Verdict
from symscope_papers.spectral.pairs.judged import line_claim


@pytest.mark.parametrize(
    ("noise", "verdict"),
    [(0.3, Verdict.HOLDS), (1.0, Verdict.NOT_TESTABLE), (4.0, Verdict.CONTRADICTED)],
)
def test_a_line_is_judged_only_away_from_the_border(noise, verdict):
    draw = np.random.default_rng(0)
    x = draw.normal(size=200)
    table = pd.DataFrame({"x": x, "y": x + noise * draw.normal(size=200)})
    words = {"one": "x", "other": "y"}
    claim = line_claim(table, "y is linear in x.", "Sec. 3", "linear", **words)
    assert claim.verdict is verdict
    assert claim.measured == pytest.approx(np.corrcoef(table["x"], table["y"])[0, 1] ** 2)
    broken = line_claim(table, "y is not.", "Sec. 3", "do not map well", broken=True, **words).verdict
    swapped = {Verdict.HOLDS: Verdict.CONTRADICTED, Verdict.CONTRADICTED: Verdict.HOLDS}
    assert broken is swapped.get(verdict, verdict)
