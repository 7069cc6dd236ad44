"""The bank's series, molecules and graphs: what they are, and that their files are read back as written."""

from __future__ import annotations

import zipfile

import networkx
import numpy as np
import pytest
import torch

from symscope import InputError
from symscope.data import LabelledData, parse_action
from symscope_papers.forecast.bank import export as export_module
from symscope_papers.forecast.bank.config import Bank, chosen_cases
from symscope_papers.forecast.bank.data import bank_data
from symscope_papers.forecast.bank.export import ITALY, export, power_demand
from symscope_papers.forecast.bank.kinds import (
    HISS,
    ONSET,
    PULSES,
    REWIRED,
    TEMPLATES,
    WIDTH,
    pulse_series,
    template_adjacency,
    template_graphs,
)
from symscope_papers.forecast.bank.measure import bank_question


def test_templates_are_the_graphs_they_are_called_and_no_two_are_alike():
    named = {
        "ring": networkx.cycle_graph(8),
        "star": networkx.star_graph(7),
        "two cliques": networkx.disjoint_union(networkx.complete_graph(4), networkx.complete_graph(4)),
        "ladder": networkx.ladder_graph(4),
        "tree": networkx.full_rary_tree(2, 8),
    }
    made = {kind: networkx.from_numpy_array(template_adjacency(kind).numpy()) for kind in TEMPLATES}
    for one, other in [(a, b) for a in TEMPLATES for b in TEMPLATES]:
        assert networkx.is_isomorphic(made[one], named[other]) is (one == other)


def test_graphs_are_plain_and_differ_from_their_template_by_the_share_stated():
    data = template_graphs(200, seed=1)
    assert torch.equal(data.x, data.x.mT)
    assert float(data.x.diagonal(dim1=1, dim2=2).abs().max()) == 0
    clean = torch.stack([template_adjacency(kind) for kind in TEMPLATES])[data.labels]
    pairs = len(data) * 8 * 7 / 2
    share = float((data.x.round() - clean).abs().sum()) / 2 / pairs
    assert abs(share - REWIRED) < 4 * (REWIRED * (1 - REWIRED) / pairs) ** 0.5


def test_pulses_come_early_and_the_rest_is_noise():
    data = pulse_series(200, seed=2)
    late = data.x[:, 0, int(ONSET + 2 * WIDTH) :]
    assert abs(float(late.std()) - HISS) < 4 * HISS / late.numel() ** 0.5
    means = torch.stack([data.x[data.labels == k, 0].mean(0) for k in range(len(PULSES))])
    early = int(ONSET) + torch.arange(int(WIDTH))
    share = means[:, early].square().sum(1) / means.square().sum(1)
    assert float(share.min()) > 0.8
    assert float(torch.pdist(means).min()) > 1


def test_power_demand_is_read_from_the_wheel(tmp_path):
    wheel = tmp_path / "aeon.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(ITALY.format("TRAIN"), "#days\n@data\n0.5,-1,2:1\n1,2,3:2\n")
        archive.writestr(ITALY.format("TEST"), "@data\n4,5,6:1\n")
    data = power_demand(wheel)
    assert data.x.tolist() == [[[0.5, -1, 2]], [[1, 2, 3]], [[4, 5, 6]]]
    assert data.labels.tolist() == [0, 1, 0]
    wheel.write_text("no archive")
    with pytest.raises(InputError, match="expected the wheel of aeon"):
        power_demand(wheel)


def test_what_is_exported_is_what_the_bank_reads(tmp_path, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 12, 6, generator=generator, dtype=torch.float64)
    made = LabelledData(x, torch.arange(30) % 2, "made", "made")
    monkeypatch.setattr(export_module, "ring_samples", lambda: made)
    monkeypatch.setattr(export_module, "handed_samples", lambda _: made.take(torch.arange(20)))
    assert [path.name for path in export(tmp_path)] == ["rings.npz", "handed.npz"]
    known, new = bank_data("rings", 5, {"exported": str(tmp_path)}, seed=0)
    assert known.x.shape == (10, 12, 6)
    assert float(torch.cdist(known.x.flatten(1), x.flatten(1)).min(1).values.max()) < 1e-5
    assert len(new) == 20
    config = Bank(exported=str(tmp_path))
    cell = {"data": "rings", "action": "O", "coverage": "half", "samples": 5}
    assert int((~bank_question(config, cell, 0).coverage.seen).sum()) == 5 * 23
    with pytest.raises(InputError, match=r"there is no .*italy.npz"):
        bank_data("italy", 5, {"exported": str(tmp_path)}, seed=0)


def test_cases_of_exported_data_need_its_folder():
    assert not {"italy", "rings", "handed"} & {case["data"] for case in chosen_cases(Bank())}
    assert {"italy", "rings", "handed"} <= {case["data"] for case in chosen_cases(Bank(exported="x"))}


def test_rings_are_told_by_their_bonds_and_not_by_their_size():
    pytest.importorskip("biotite", reason="needs the extra symscope[molecules]")
    from symscope.data.molecules import ring_samples

    data = ring_samples(8, 9)
    sizes = data.x[:, :, 3:].sum((1, 2)).numpy()
    for size in (8, 9):
        counts = np.bincount(data.labels.numpy()[sizes == size], minlength=2)
        assert counts[0] == counts[1] > 50
    places = data.x[..., :3]
    torch.testing.assert_close(places.sum(1), torch.zeros(len(data), 3, dtype=torch.float64))
    # independent of the dictionary's bonds: heavy atoms closer than 1.75 angstrom are bonded
    there = data.x[:, :, 3:].sum(2) > 0
    close = (torch.cdist(places, places) < 1.75) & there[:, :, None] & there[:, None, :]
    edges = (close.sum((1, 2)) - there.sum(1)) / 2
    ring = edges >= there.sum(1)
    assert float((ring == (data.labels == 1)).double().mean()) > 0.97
    with pytest.raises(InputError, match="with and without a ring"):
        ring_samples(1, 1)
    turned = parse_action("points:3", "O", tuple(data.x.shape[1:])).act(5, data.x[:3])
    torch.testing.assert_close(turned[..., 3:], data.x[:3, :, 3:])
