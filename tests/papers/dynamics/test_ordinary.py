"""Training from outside E: what is measured, and what the claims make of it."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics.averaged_elements import drawn_elements
from symscope.dynamics.layer_vectors import gaussian_weights, project
from symscope.runs import Verdict
from symscope_papers.dynamics.fig1_problems import fig1_problem
from symscope_papers.dynamics.ordinary import ordinary as experiment
from symscope_papers.dynamics.ordinary.config import Ordinary
from symscope_papers.dynamics.ordinary.measure import equivariance_error, held_out_batches
from tests.papers.dynamics.strategy_cases import measured

SMALL = Ordinary(
    tasks=("rotation",), sizes="small", samples=40, runs=2, steps=20, looks=2, rates=(5.0,), mnist="sample"
)


def test_equivariant_training_stays_in_e_and_augmented_training_makes_the_function_more_equivariant():
    tables = measured(experiment, SMALL)
    table = tables["ordinary"].set_index("strategy")
    assert table.loc["equivariant", "error"].max() < 1e-12
    assert table.loc["equivariant", "outside"].max() < 1e-12
    assert table.loc["augmented", "step"].tolist() == [0, 10, 20] * 2
    end = tables["ordinary"][tables["ordinary"]["step"] == 20].groupby("strategy")
    assert end["error"].mean()["augmented"] < end["error"].mean()["nominal"]
    claims = experiment.claims(SMALL, tables)
    assert claims[0].verdict is Verdict.HOLDS
    exact = {"ordinary": tables["ordinary"].assign(error=0.0)}
    assert experiment.claims(SMALL, exact)[0].verdict is Verdict.CONTRADICTED
    assert [plot.name for plot in experiment.plot(SMALL, tables)] == ["ordinary"]


@pytest.mark.parametrize("task", ["permutation", "translation", "rotation"])
def test_the_error_is_zero_in_e_only_and_held_out_samples_are_not_trained_on(task):
    problem = fig1_problem(task, "small", 80, mnist="sample", seed=0, device="cpu")
    train, held_out = held_out_batches(problem)
    assert (len(train.x), len(held_out.x)) == (3, 1)
    assert torch.equal(torch.cat([held_out.x, train.x]), problem.x)
    layers = gaussian_weights(problem.network, torch.Generator().manual_seed(0), scale="preserving")
    elements = drawn_elements(problem.network.group, 4, torch.Generator().manual_seed(1))
    assert equivariance_error(held_out, layers, elements) > 0.1
    assert equivariance_error(held_out, project(problem.network, layers), elements) < 1e-12


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="rates: expected one per task"):
        Ordinary(rates=(0.1,))
