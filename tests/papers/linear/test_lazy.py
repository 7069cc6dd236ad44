"""App. H at a small size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope.runs import Verdict
from symscope_papers.linear.lazy import lazy
from symscope_papers.linear.lazy.config import Lazy
from tests.papers.linear.runs import measured, verdicts
from tests.papers.linear.tables import tables_of_cells

SMALL = Lazy(width=10, orbits=12, alphas=(0.0, 1.0, 100.0, 1e4), networks=2, steps=60, held_out=20)


@pytest.fixture(scope="module")
def tables():
    return tables_of_cells(lazy, SMALL)


def test_the_laziest_network_is_its_linearisation_and_starts_at_zero(tables):
    curves, ends = tables["curves"], tables["ends"]
    laziest = curves[curves["alpha"] == 1e4]
    assert (laziest[laziest["step"] == 0]["asymmetry"] == 0).all()
    after = laziest[laziest["step"] > 0]
    assert after["asymmetry"].to_numpy() == pytest.approx(after["theory"].to_numpy(), rel=1e-2)
    assert (curves[(curves["alpha"] == 0) & (curves["step"] == 0)]["asymmetry"] > 0).all()
    change = ends.groupby("alpha")["weight_change"].mean()
    assert change[100.0] / change[1e4] == pytest.approx(100, rel=0.02)
    kernels = ends.groupby("alpha")["kernel_change"].mean()
    assert kernels[1e4] < kernels[100.0] < kernels[1.0]
    switched = ends.groupby("alpha")["switched"].mean()
    assert switched[1e4] == 0 < switched[1.0] < 72 * 10
    # lazy or not, a step moves the outputs equally: the losses are alike
    errors = ends.groupby("alpha")["error"].mean()
    assert errors[1e4] == pytest.approx(errors[100.0], rel=0.05)


def test_claims_follow_the_numbers(tables):
    claims = lazy.claims(SMALL, tables)
    assert verdicts(claims) == [Verdict.HOLDS, Verdict.NOT_TESTABLE]
    assert measured(claims, "Exponent") == pytest.approx(-1, abs=0.01)
    ends = tables["ends"].copy()
    ends.loc[ends["alpha"] == 1.0, "asymmetry"] = 0.0  # not lazy: says nothing about lazy training
    assert verdicts(lazy.claims(SMALL, {**tables, "ends": ends}))[0] is Verdict.HOLDS
    ends.loc[ends["alpha"] == 1e4, "asymmetry"] = 1e-12
    assert verdicts(lazy.claims(SMALL, {**tables, "ends": ends}))[0] is Verdict.CONTRADICTED


def test_figure(tables):
    [plot] = lazy.plot(SMALL, tables)
    assert plot.name == "asymmetry"


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="expected 1 or more"):
        replace(SMALL, steps=0)
    with pytest.raises(InputError, match="alphas: expected"):
        replace(SMALL, alphas=(1.0, 10.0))
    with pytest.raises(InputError, match="stability: expected above 0 and below 1"):
        replace(SMALL, stability=1.5)
