"""App. A.2 and A.3 at a tiny size."""

from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.runs import Verdict
from symscope_papers.discovery.objectives import objectives
from symscope_papers.discovery.objectives.config import Objectives
from symscope_papers.discovery.objectives.measure import expansion_defect, projective
from tests.papers.discovery.gathered import gathered


def test_true_actions_meet_the_bracket_condition_and_not_eq7():
    config = Objectives(draws=3, steps=2, samples=20, points=2)
    tables = gathered(objectives, config)
    claims = objectives.claims(config, tables)
    judged = [claim.verdict for claim in claims if claim.verdict]
    against, holds = Verdict.CONTRADICTED, Verdict.HOLDS
    assert judged[:3] == [against, against, holds]  # Eq. 7, the expansion behind it, exponentials
    assert all(claim.quote for claim in claims if claim.verdict)
    true, wrong = (claim.measured for claim in claims if "of a " in claim.statement and not claim.verdict)
    assert true < 1e-12 < 1e-2 < wrong
    [plot] = objectives.plot(config, tables)
    assert [label.get_text()[:4] for label in plot.figure.axes[0].get_xticklabels()] == ["a = "] * 3
    spoiled = {
        **tables,
        "defects": tables["defects"].assign(eq7=0.0, expansion=0.0, integrated=0.5),
        "orthogonality": tables["orthogonality"].assign(cosine=0.1),
    }
    again = [claim.verdict for claim in objectives.claims(config, spoiled) if claim.verdict]
    assert [*again[:3], again[4]] == [holds, holds, against, holds]
    opposite = {**tables, "orthogonality": tables["orthogonality"].assign(cosine=-0.9)}
    assert objectives.claims(config, opposite)[4].verdict is against


def test_the_expansion_is_wrong_by_more_than_a_sign():
    h1, h2 = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    step = 1e-3
    product = torch.linalg.matrix_exp(step * h2) @ torch.linalg.matrix_exp(step * h1)
    second = (product - torch.eye(3) - step * (h1 + h2)) / step**2
    bracket = (h1 @ h2 - h2 @ h1) / 2
    expected = float((bracket - second).norm() / second.norm())
    assert float(expansion_defect(h1, h2)) == pytest.approx(expected, rel=1e-2)
    assert float((-bracket - second).norm() / second.norm()) > 0.1


def test_projective_maps_compose():
    one, two = torch.randn(2, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta = torch.tensor([[0.3, -1.2, 2.0]], dtype=torch.float64)
    twice = projective(two, projective(one, theta, theta), theta)
    torch.testing.assert_close(twice, projective(two @ one, theta, theta))


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="expected 1 or more"):
        Objectives(draws=0)
