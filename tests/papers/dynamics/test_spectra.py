"""Spectra of the networks of Fig. 1 as claims, against the dense Hessian."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics.layer_vectors import flatten, residual, unflatten
from symscope.dynamics.risks import augmented_risk
from symscope.runs import Verdict
from symscope.runs._definition import CellContext
from symscope_papers.dynamics.dense_hessian import hessian_of
from symscope_papers.dynamics.fig1_problems import DIGITS, fig1_problem
from symscope_papers.dynamics.spectra import spectra as experiment
from symscope_papers.dynamics.spectra.config import Spectra
from symscope_papers.dynamics.strategies.measure import starting_layers
from symscope_papers.dynamics.translation.config import Translation
from tests.papers.dynamics.strategy_cases import measured

SMALL = Spectra(
    tasks=("translation",), sizes="small", samples=20, runs=1, elements=16, steps=2, mnist="sample",
    tolerance=1e-3,
)  # fmt: skip
HERE = CellContext(seed=0, run_seed=5, device="cpu")


def test_the_ends_are_those_of_the_dense_hessian_and_decide_the_claim(monkeypatch):
    tiny = Translation(size=2, channels=(2, 2), invariant=3, mnist="sample", batch=20)
    monkeypatch.setitem(DIGITS, "small", tiny)
    tables = measured(experiment, SMALL)
    start = tables["spectra"].iloc[0]
    problem = fig1_problem("translation", "small", 20, mnist="sample", seed=HERE.run_seed, device="cpu")
    layers = flatten(tuple(layer[0] for layer in starting_layers(problem, [0], HERE.run_seed)))
    dense = hessian_of(lambda w: augmented_risk(problem, w), problem.network, layers)
    eye = torch.eye(len(layers), dtype=torch.float64)
    off = flatten(residual(problem.network, unflatten(problem.network, eye)))
    values = torch.linalg.eigvalsh(off @ dense @ off)
    assert start["lowest"] == pytest.approx(float(values[0]), rel=1e-3)
    assert start["highest"] == pytest.approx(float(values[-1]), rel=1e-3)
    claims = experiment.claims(SMALL, tables)
    assert claims[0].verdict is Verdict.NOT_CHECKED
    assert claims[1].measured == pytest.approx(-5e-4 * start["lowest"])
    whole = Spectra(tasks=("translation",))
    unstable = {"spectra": tables["spectra"].assign(verdict="unstable")}
    assert experiment.claims(whole, unstable)[0].verdict is Verdict.HOLDS
    stable = {"spectra": tables["spectra"].assign(verdict="stable")}
    assert experiment.claims(whole, stable)[0].verdict is Verdict.CONTRADICTED
    assert [plot.name for plot in experiment.plot(SMALL, tables)] == ["spectra"]


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="tasks: unknown"):
        Spectra(tasks=("reflection",))
    with pytest.raises(InputError, match="elements: expected 4 or more"):
        Spectra(elements=1)
