"""App. A.2 and A.3 at a tiny size."""

from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.runs import Verdict
from symscope_papers.discovery.objectives import objectives
from symscope_papers.discovery.objectives.config import Objectives
from symscope_papers.discovery.objectives.measure import projective
from tests.papers.discovery.gathered import gathered


def test_true_actions_meet_the_bracket_condition_and_not_eq7():
    config = Objectives(draws=3, steps=2, samples=20, points=2)
    tables = gathered(objectives, config)
    verdicts = {claim.statement: claim.verdict for claim in objectives.claims(config, tables)}
    assert verdicts["The bracket condition vanishes on true actions."] is Verdict.HOLDS
    assert verdicts["It sees a map that is no left action."] is Verdict.HOLDS
    assert verdicts["The integrated axiom vanishes on true actions."] is Verdict.HOLDS
    assert verdicts["Eq. 7 does not vanish on true actions."] is Verdict.HOLDS
    [plot] = objectives.plot(config, tables)
    assert [label.get_text()[:4] for label in plot.figure.axes[0].get_xticklabels()] == ["a = "] * 3
    spoiled = {**tables, "defects": tables["defects"].assign(bracket=0.5, integrated=0.5)}
    again = {claim.statement: claim.verdict for claim in objectives.claims(Objectives(), spoiled)}
    assert again["The bracket condition vanishes on true actions."] is Verdict.CONTRADICTED


def test_projective_maps_compose():
    one, two = torch.randn(2, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta = torch.tensor([[0.3, -1.2, 2.0]], dtype=torch.float64)
    twice = projective(two, projective(one, theta, theta), theta)
    torch.testing.assert_close(twice, projective(two @ one, theta, theta))


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="expected 1 or more"):
        Objectives(draws=0)
