"""Networks on partly seen orbits while they train."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.runs._definition import CellContext
from symscope_papers.spectral.evolving import evolving as experiment
from symscope_papers.spectral.evolving.config import Evolving
from symscope_papers.spectral.evolving.measure import feature_geometry

SMALL = Evolving(networks=("mlp",), angles=(4,), classes=(0, 1), seeds=2, starts=2, epochs=(0, 20), batch=8)


def test_training_fits_what_is_seen_and_changes_the_kernel():
    rows = []
    for at, cell in enumerate(experiment.cells(SMALL)):
        context = CellContext(seed=at, run_seed=5, device="cpu")
        rows += [{**cell, **row} for row in experiment.measure(SMALL, cell, context)["evolving"]]
    table = pd.DataFrame(rows)
    assert table["left_out"].tolist() == [0, 0, 1, 1]
    before, after = table[table["epoch"] == 0], table[table["epoch"] == 20]
    assert before["kernel_change"].abs().max() < 1e-12
    assert (after["kernel_change"] > 1e-4).all()
    assert after["seen"].min() > 0.9
    again = experiment.measure(SMALL, cell, context)["evolving"]
    assert [{**cell, **row} for row in again] == rows[-2:]
    claims = experiment.claims(SMALL, {"evolving": table})
    assert [claim.verdict for claim in claims] == [None] * 4
    gain = after["kernel_unseen"].mean() - before["kernel_unseen"].mean()
    assert claims[1].measured == pytest.approx(gain)
    assert [plot.name for plot in experiment.plot(SMALL, {"evolving": table})] == ["accuracy", "geometry"]


def test_an_invariant_network_has_no_distance_within_orbits():
    centres = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    features = centres.repeat_interleave(4, 0)
    labels = torch.tensor([0, 1, 1]).repeat_interleave(4)
    missing = torch.zeros(12, dtype=torch.bool)
    missing[0] = True
    result = feature_geometry(features @ features.T, labels, missing, 4)
    assert result["within_orbits"] == pytest.approx(0, abs=1e-7)
    assert result["unseen_own"] == pytest.approx(0, abs=1e-7)
    apart = torch.cdist(centres, centres)
    between = (apart[0, 1] ** 2 + apart[0, 2] ** 2) / 2
    assert result["within_classes"] == pytest.approx(float(apart[1, 2] / between.sqrt()))
    assert result["unseen_other"] == pytest.approx(1.0)


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="epochs: expected 0 first"):
        Evolving(epochs=(1, 5))
    with pytest.raises(InputError, match="classes: expected"):
        Evolving(classes=(3,))
