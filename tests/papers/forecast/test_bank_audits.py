"""Audits of the bank's networks: what is audited is what was trained, and rows say what was found."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from torch import nn

from docs.tooling.forecast_bank import TABLES, add_runs, read_bank
from symscope.forecasting.methods import DesignTrainer, forecast_samples, true_designs
from symscope.networks import arrange_inputs, user_model
from symscope_papers.forecast.bank import audits
from symscope_papers.forecast.bank.audits import Standardised, audit_rows, audits_section, seen_points
from symscope_papers.forecast.bank.config import Bank
from symscope_papers.forecast.bank.measure import bank_question
from symscope_papers.forecast.bank.networks import bank_network

CASE = {"data": "mnist", "action": "C8", "coverage": "half", "samples": 12}


@pytest.fixture(scope="module", params=["mnist", "points"])
def setting(request):
    asked = bank_question(Bank(mnist="sample"), CASE | {"data": request.param}, seed=1)
    kind = "mlp" if request.param == "mnist" else "deepsets"
    model = user_model(bank_network(kind, asked.shape, asked.outputs), asked.shape, asked.outputs, name=kind)
    trainer = DesignTrainer(model, forecast_samples(asked, 0), torch.device("cpu"))
    return asked, trainer, true_designs(trainer.samples, asked.group)[0]


def test_an_audited_network_answers_at_points_as_the_trained_one_does(setting):
    asked, trainer, design = setting
    module = trainer.model.builder(0).float()
    x, wanted = seen_points(asked, trainer, design, 10**6, 0)
    known = trainer.samples.known
    assert len(x) == int(design.seen.sum())
    expected = module(arrange_inputs(known.points[design.seen], trainer.model.layout))
    found = Standardised(module, asked, trainer.model.layout)(x.float())
    order = torch.cdist(found.double(), expected.double()).argmin(1)  # points are drawn in another order
    assert torch.allclose(found, expected[order], atol=1e-4)
    assert torch.equal(wanted, known.wanted[design.seen][order])


def test_a_row_names_the_cause_of_a_network_and_finds_a_built_in_symmetry_clean(setting):
    asked, trainer, design = setting
    row = audit_rows(asked, trainer, design, trainer.model.builder(3), 0)[0]
    if trainer.model.name == "deepsets":
        assert row["first"] == "none"
        assert row["error"] < 1e-4
    else:
        assert row["error"] > 0.5
        assert row["first"] in audits.KINDS
        assert sum(row[f"{kind}_share"] for kind in audits.KINDS) == pytest.approx(1, abs=0.05)
    assert row["audited"] <= audits.SAMPLES


def test_a_network_that_cannot_be_audited_has_the_reason_as_its_row(setting):
    asked, trainer, design = setting

    class Constant(nn.Module):
        def forward(self, x):
            return torch.zeros(len(x), asked.outputs)

    row = audit_rows(asked, trainer, design, Constant(), 0)[0]
    assert set(row) == {"note"}
    assert "the same for all" in row["note"]


def test_the_section_counts_what_was_found():
    case = {"data": "mnist", "action": "C8", "coverage": "one", "samples": 25}
    found = {"error": 0.5, "first": "data", "labels": "change", "audit_seconds": 1.0, "note": ""}
    rows = [
        case | found | {"network": "mlp"},
        case | found | {"network": "cnn", "error": 0.1, "first": "grid", "labels": "survive"},
        case | {"network": "gru", "note": "a reason."},
    ]
    cases = pd.DataFrame([{**row, "training_seconds": 10.0} for row in rows])[
        [*case, "network", "training_seconds"]
    ]
    text = audits_section(pd.DataFrame(rows), cases)
    assert "each of 2 cases" in text
    assert "trainings: 0.10." in text
    assert "change under the group in 1 of them" in text
    assert "| MLP 512-128 | 1 | 50.0% | 50.0% to 50.0% | data 1 | 1 |" in text
    assert "Not audited: 1. The first: a reason." in text
    assert "None of 1" in audits_section(pd.DataFrame(rows[2:]), cases)


def test_a_bank_without_audits_is_read_and_takes_no_section(tmp_path):
    kept = read_bank()
    assert {"cases", "trained"} <= set(kept) <= set(TABLES)
    frame = pd.DataFrame([dict(CASE)])
    frame.to_parquet(tmp_path / "cases.parquet")
    assert set(add_runs(read_bank(tmp_path), [])) == {"cases"}
