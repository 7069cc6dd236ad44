"""App. A.2 and A.3 at a tiny size."""

from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.experiments import Place, Verdict, request, run
from symscope.experiments.discovery.objectives import Objectives, objectives, projective
from symscope.experiments.outcome import tables_of
from symscope.experiments.store import RunFolder


def test_true_actions_meet_the_bracket_condition_and_not_eq7(tmp_path):
    tiny = ["draws=3", "steps=2", "samples=20", "points=2"]
    [outcome] = run([request("discovery/objectives", changes=tiny, device="cpu")], tmp_path, Place(workers=0))
    assert outcome.failed == 0
    assert outcome.problems == ()
    verdicts = {claim.statement: claim.verdict for claim in outcome.claims}
    assert verdicts["The bracket condition vanishes on true actions."] is Verdict.REPRODUCED
    assert verdicts["It sees a map that is no left action."] is Verdict.REPRODUCED
    assert verdicts["The integrated axiom vanishes on true actions."] is Verdict.REPRODUCED
    assert verdicts["Eq. 7 does not vanish on true actions."] is Verdict.REPRODUCED
    tables = tables_of(RunFolder(outcome.folder))
    spoiled = {**tables, "defects": tables["defects"].assign(bracket=0.5, integrated=0.5)}
    again = {claim.statement: claim.verdict for claim in objectives.claims(Objectives(), spoiled)}
    assert again["The bracket condition vanishes on true actions."] is Verdict.NOT_REPRODUCED


def test_projective_maps_compose():
    one, two = torch.randn(2, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta = torch.tensor([[0.3, -1.2, 2.0]], dtype=torch.float64)
    twice = projective(two, projective(one, theta, theta), theta)
    torch.testing.assert_close(twice, projective(two @ one, theta, theta))


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="expected at least 1"):
        Objectives(draws=0)
