from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.cli import main
from symscope.data import mnist_sample, orbits, rotation
from symscope.demo import CANDIDATES, Candidate, answer, conv_flat, conv_pooled, mlp
from symscope.kernels import infinite_width


@pytest.mark.parametrize(("build", "side"), [(mlp, 28), (conv_flat, 14), (conv_pooled, 7)])
def test_answers_equal_regression_solved_for_each_class(build, side):
    """Every class left out by really training without it, instead of one factorisation for all."""
    digits = mnist_sample().per_class(2, seed=3)
    found = answer(Candidate("net", build, side, (4,)), digits, 4)
    points = orbits(digits.x, rotation(4)).points.flatten(0, 1)[:, None]
    points = nn.functional.adaptive_avg_pool2d(points, side)
    points = points - points.mean((1, 2, 3), keepdim=True)
    points = points / points.flatten(1).norm(dim=1)[:, None, None, None]
    gram = infinite_width(build(side)).ntk(points.flatten(1) if build is mlp else points)
    labels = digits.labels.repeat_interleave(4)
    one_hot = nn.functional.one_hot(labels, 10).double()
    for label in range(10):
        upright = torch.arange(len(labels)) % 4 == 0
        missing = upright & (labels == label)
        weights = torch.linalg.solve(gram[~missing][:, ~missing], one_hot[~missing])
        predicted = (gram[missing][:, ~missing] @ weights).argmax(1)
        assert float((predicted == label).double().mean()) == found.by_class[label]


def test_the_page_and_the_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("symscope.demo.CANDIDATES", CANDIDATES[:1])
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--out", str(tmp_path / "new" / "demo")])
    assert stopped.value.code == 0
    page = (tmp_path / "new" / "demo" / "report.html").read_text()
    assert "Will it read a rotated digit?" in page
    assert page.count("<svg") == 2
    printed = capsys.readouterr().out
    assert "Accuracy on the orientation left out" in printed
    assert "report.html" in printed


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--out", str(tmp_path / "file" / "demo")])
    assert stopped.value.code == 2
    assert "cannot make the folder" in capsys.readouterr().err
