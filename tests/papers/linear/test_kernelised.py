"""Table 1 at a small size: rows against their definition, claims that can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.networks.architectures import mlp
from symscope.runs import CellContext, Verdict
from symscope_papers.linear.kernelised import kernelised
from symscope_papers.linear.kernelised.config import TABLE, Kernelised
from tests.papers.linear.runs import measured, verdicts
from tests.papers.linear.tables import tables_of_cells

SMALL = Kernelised(width=30, networks=2, points=(200, 600), held_out=300)


@pytest.fixture(scope="module")
def tables():
    return tables_of_cells(kernelised, SMALL)


def test_rows_are_what_they_say(tables):
    errors = tables["errors"]
    assert len(errors) == 2 * 2 * 4
    toy, net = permuted_cube(600, 1), mlp((3, 30, 1), seed=1)
    phi = torch.relu(toy.features @ net[1].weight.T + net[1].bias).detach()
    moved = torch.relu((toy.features @ toy.group[3]) @ net[1].weight.T + net[1].bias).detach()
    fitted = torch.linalg.lstsq(phi, moved, rcond=1e-9, driver="gelsd").solution
    row = errors[
        (errors["network"] == 1)
        & (errors["points"] == 600)
        & (errors["features"] == "activations")
        & (errors["element"] == "(1 2 3)")
    ].iloc[0]
    assert row["without"] == pytest.approx(float((phi - moved).norm(dim=1).mean()))
    assert row["with"] == pytest.approx(float((phi @ fitted - moved).norm(dim=1).mean()), rel=1e-4)
    assert row["size"] == 30


def test_claims_follow_the_numbers(tables):
    perfect = {name: table.copy() for name, table in tables.items()}
    for (features, element), (without, given) in TABLE.items():
        chosen = (perfect["errors"]["features"] == features) & (perfect["errors"]["element"] == element)
        perfect["errors"].loc[chosen, "without"] = without
        perfect["errors"].loc[chosen, "with"] = given
        perfect["errors"].loc[chosen, ["reduction", "new_reduction"]] = 10.0
    claims = kernelised.claims(SMALL, perfect)
    assert verdicts(claims) == [*[Verdict.HOLDS] * 3, Verdict.NOT_TESTABLE]
    assert measured(claims, "Norms without the matrix, divided") == "0.033 to 0.033"  # 1 / 30 units
    spoiled = {name: table.copy() for name, table in perfect.items()}
    spoiled["errors"][["reduction", "new_reduction"]] = 3.0
    spoiled["errors"][["without", "with"]] *= 5
    result = verdicts(kernelised.claims(SMALL, spoiled))
    assert result == [*[Verdict.NUMBER_DIFFERS] * 3, Verdict.NOT_TESTABLE]


def test_figures(tables):
    assert [plot.name for plot in kernelised.plot(SMALL, tables)] == ["table", "points"]
    one = replace(SMALL, points=(600,))
    assert [plot.name for plot in kernelised.plot(one, tables)] == ["table"]


def test_networks_differ_and_cells_repeat():
    around = CellContext(seed=5, run_seed=0, device="cpu")
    first = kernelised.measure(SMALL, {"network": 0, "points": 200}, around)
    again = kernelised.measure(SMALL, {"network": 0, "points": 200}, around)
    other = kernelised.measure(SMALL, {"network": 1, "points": 200}, around)
    assert first == again
    assert first["errors"][0]["with"] != other["errors"][0]["with"]


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="expected 1 or more"):
        replace(SMALL, networks=0)
    with pytest.raises(InputError, match="points: expected 1 or more increasing numbers"):
        replace(SMALL, points=(10, 10))
