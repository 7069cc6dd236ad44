"""Graphs under permutations of their nodes: labels, entries, and a whole run."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.runs import RunRequest, Workers, run_experiments
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.permutation.measure import graph_problem
from tests.papers.dynamics.strategy_cases import GRAPHS


def test_entries_are_shifted_and_connected_graphs_have_label_one():
    problem = graph_problem(GRAPHS, 3, torch.float64, "cpu")
    assert set(problem.x.unique().tolist()) == {-0.5, 0.5}
    for x, y in zip(problem.x.flatten(0, 1), problem.y.flatten(), strict=True):
        edges = x.reshape(4, 4) + 0.5
        paths = torch.linalg.matrix_power(edges + torch.eye(4, dtype=torch.float64), 4)
        assert bool((paths > 0).all()) == bool(y)


def test_a_run_resumes_and_makes_its_page(tmp_path):
    changes = [
        "nodes=4", "graphs=24", "channels=2", "invariant=4", "hidden=3", "runs=3", "epochs=3", "passes=4",
        "batch=6", "block=2", "check_epochs=2",
    ]  # fmt: skip
    wanted = RunRequest.of("dynamics/permutation", device="cpu", changes=changes)
    assert (
        run_experiments([wanted], tmp_path, Workers(processes=0), only={"part": ["precision"]}) == []
    )  # the rest later
    reported = []
    [outcome] = run_experiments(
        [wanted], tmp_path, Workers(processes=0), progress=lambda *now: reported.append(now[1:])
    )
    assert reported[0] == (1, 3)
    assert not outcome.problems
    assert not outcome.failed
    assert outcome.cells == 3
    tables = outcome.tables()
    assert set(tables) == {"paths", "noise", "work", "precision"}
    assert len(tables["paths"]) == 3 * 3 * 4
    assert (tables["work"]["flops"] > 0).all()


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="nodes: expected 2 or more"):
        Permutation(nodes=1)
