"""The bank's data: known and new samples apart, sets of points, what acts on each."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

from symscope import InputError
from symscope_papers.forecast.bank import data as bank_module
from symscope_papers.forecast.bank.config import Bank, bank_cases
from symscope_papers.forecast.bank.data import CURVES, JITTER, bank_data, point_sets
from symscope_papers.forecast.bank.measure import bank_question


def test_points_lie_near_their_curves():
    """Up to a turn, and what the noise does: distances from the origin tell circle, line and groups apart."""
    data = point_sets(200, 6, seed=1)
    radius = data.x.norm(dim=2)
    circle = radius[data.labels == CURVES.index("circle")]
    assert abs(float(circle.mean()) - 1) < 0.05
    assert float(circle.std()) < 1.5 * JITTER
    line = data.x[data.labels == CURVES.index("line")]
    smaller = torch.linalg.eigvalsh(line.mT @ line / 6)[:, 0]  # noise alone across a line through the origin
    assert float(smaller.mean()) < 2 * JITTER**2
    groups = radius[data.labels == CURVES.index("two groups")]
    assert float(groups.min()) + 3 * JITTER > 0.7
    assert float(groups.mean()) < 1.3


@pytest.mark.parametrize("name", ["mnist", "points", "digits", "six-nine", "pulses", "graphs"])
def test_new_samples_are_others_than_the_known(name):
    if name == "digits":
        pytest.importorskip("sklearn")
    known, new = bank_data(name, 20, {"mnist": "sample"}, seed=3)
    assert set(known.labels.bincount()[list(known.classes)].tolist()) == {20}
    assert known.classes == new.classes
    assert float(torch.cdist(known.x.flatten(1).double(), new.x.flatten(1).double()).min()) > 0
    again, _ = bank_data(name, 20, {"mnist": "sample"}, seed=3)
    assert torch.equal(known.x, again.x)


def test_colour_images_are_read_from_a_folder(tmp_path):
    generator = np.random.default_rng(0)
    for part, count in (("train", 12), ("test", 8)):
        images = generator.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        np.savez(tmp_path / f"{part}.npz", X=images, y=np.arange(count) % 2)
    known, new = bank_data("cifar", 5, {"cifar": str(tmp_path)}, seed=0)
    assert known.x.shape == (10, 3, 32, 32)
    assert len(new) == 8
    first = np.load(tmp_path / "test.npz")["X"]
    wanted = torch.from_numpy(first).movedim(3, 1) / 255
    assert torch.cdist(new.x.flatten(1), wanted.flatten(1)).min(1).values.max() < 1e-6
    with pytest.raises(InputError, match="at most 6 samples"):
        bank_data("cifar", 7, {"cifar": str(tmp_path)}, seed=0)


@pytest.mark.parametrize(
    ("data", "action", "coverage", "order", "missing"),
    [
        ("mnist", "C8", "gap", 8, 5 * 20 * 3),
        ("mnist", "C16", "gap", 16, 5 * 20 * 5),
        ("mnist", "flip", "half", 2, 5 * 20),
        ("mnist", "shift", "half", 14, 5 * 20 * 13),
        ("mnist", "C4", "once", 4, 200 * 3),
        ("six-nine", "C2", "half", 2, 2 * 20),
        ("points", "C8", "half", 8, 2 * 20 * 7),
        ("pulses", "shift", "half", 8, 2 * 20 * 7),
        ("graphs", "C8", "half", 8, 2 * 20 * 7),
    ],
)
def test_every_case_lacks_what_its_coverage_says(data, action, coverage, order, missing):
    cell = {"data": data, "action": action, "coverage": coverage, "samples": 20}
    asked = bank_question(Bank(mnist="sample"), cell, seed=0)
    assert asked.group.order == order
    assert int((~asked.coverage.seen).sum()) == missing


def test_the_list_of_cases_is_large_enough_and_says_what_is_held_out():
    cases = bank_cases()
    assert len({tuple(case.values()) for case in cases}) == len(cases) >= 120
    assert sum(case["samples"] >= 400 for case in cases) >= 50
    for case in cases:
        held = case["data"] in ("fashion", "handed") or case["network"] == "gru" or case["action"] == "D4"
        held |= (case["data"], case["network"]) == ("graphs", "mlp")
        assert case["held_out"] is held


def test_what_is_not_there_is_said(monkeypatch):
    with pytest.raises(InputError, match="no 'minst'"):
        bank_data("minst", 5, {}, seed=0)
    with pytest.raises(InputError, match="expected fewer than"):
        bank_data("mnist", 5000, {"mnist": "sample"}, seed=0)
    with pytest.raises(InputError, match="there is no"):
        bank_data("cifar", 5, {"cifar": "nowhere"}, seed=0)

    def missing(name):
        raise ImportError(name)

    bank_module._whole.cache_clear()
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match="pip install 'symscope"):
        bank_data("digits", 5, {}, seed=0)
