"""Penalties at strict minima inside E: enough, or not enough."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics import stability
from symscope.dynamics.gradients import augmented_gradient
from symscope.dynamics.layer_vectors import norm
from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope_papers.dynamics.penalty import penalty as experiment
from symscope_papers.dynamics.penalty.config import Penalty
from symscope_papers.dynamics.penalty.problems import KINDS, minimum_inside


def test_a_sufficient_penalty_stabilises_minima_that_training_leaves(tmp_path):
    settings = [
        'groups=["C3"]', "seeds=1", "samples=9", "multiples=[0.0, 2.0]", "times=3.0", "bisections=3",
    ]  # fmt: skip
    [outcome] = run_experiments(
        [RunRequest.of("dynamics/penalty", device="cpu", changes=settings)], tmp_path, Workers(processes=0)
    )
    assert not outcome.problems
    assert not outcome.failed
    assert [claim.verdict for claim in outcome.claims] == [Verdict.HOLDS] * 2 + [None] * 3
    tables = outcome.tables()
    assert (tables["penalties"]["predicted"] > 0).all()
    assert (tables["penalties"]["lowest_inside"] > 0).all()
    paths = tables["paths"]
    swapped = paths.assign(multiple=2.0 - paths["multiple"])
    verdicts = [c.verdict for c in experiment.claims(Penalty(bisections=3), {**tables, "paths": swapped})]
    assert verdicts[:2] == [Verdict.CONTRADICTED] * 2
    weak = {**tables, "paths": paths[paths["multiple"] < 1]}
    verdicts = [c.verdict for c in experiment.claims(Penalty(bisections=3), weak)]
    assert verdicts[:2] == [Verdict.NOT_CHECKED] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_problems_have_strict_minima_inside_e_that_training_leaves(kind):
    problem, weights = minimum_inside(kind, "C3", 9, torch.Generator().manual_seed(1))
    ends = stability(problem, weights)
    assert float(norm(augmented_gradient(problem, weights))) < 1e-9
    assert ends.inside.lowest > 0
    assert ends.outside.lowest < 0


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="multiples: expected no 1"):
        Penalty(multiples=(0.0, 1.0))
    with pytest.raises(InputError, match="from 0 to 3"):
        Penalty(multiples=(4.0,))
    with pytest.raises(InputError, match="times: expected a positive number"):
        Penalty(times=0.0)
