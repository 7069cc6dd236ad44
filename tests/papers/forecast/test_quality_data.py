"""The data: small digits, sets of points, and what acts on each."""

from __future__ import annotations

import importlib

import pytest
import torch

from symscope import InputError
from symscope_papers.forecast.quality import data as quality_data
from symscope_papers.forecast.quality.data import CURVES, JITTER, point_sets, quality_question, small_digits


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


def test_points_are_drawn_from_the_seed():
    assert torch.equal(point_sets(3, 4, seed=2).x, point_sets(3, 4, seed=2).x)
    assert not torch.equal(point_sets(3, 4, seed=2).x, point_sets(3, 4, seed=3).x)


@pytest.mark.parametrize(
    ("dataset", "action", "order", "shape"),
    [
        ("mnist", "shift", 14, (28, 28)),
        ("mnist-14", "shift", 14, (14, 14)),
        ("digits", "shift", 8, (8, 8)),
        ("mnist", "D4", 8, (28, 28)),
        ("mnist", "flip", 2, (28, 28)),
        ("digits", "C16", 16, (8, 8)),
        ("points", "C8", 8, (8, 2)),
        ("points", "S4", 24, (4, 2)),
    ],
)
def test_every_problem_has_the_group_of_its_name(dataset, action, order, shape):
    if dataset == "digits":
        pytest.importorskip("sklearn")
    asked = quality_question(dataset, action, 3, "sample", seed=0)
    assert (asked.group.order, asked.shape, asked.data.classes) == (order, shape, (0, 1, 2))
    assert asked.standardised is (dataset != "points")


def test_a_relabelling_keeps_the_points():
    asked = quality_question("points", "S4", 2, "sample", seed=0)
    x = asked.data.x[:1]
    moved = asked.action.act(5, x)
    assert not torch.equal(moved, x)
    assert torch.equal(moved[0].sort(0).values, x[0].sort(0).values)


def test_without_scikit_learn_it_says_what_to_do(monkeypatch):
    real = importlib.import_module

    def absent(name):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(quality_data.importlib, "import_module", absent)
    with pytest.raises(InputError, match=r"pip install 'symscope\[sklearn\]'"):
        small_digits()


def test_small_digits_are_what_scikit_learn_has():
    datasets = pytest.importorskip("sklearn.datasets")
    data = small_digits()
    raw = datasets.load_digits()
    assert data.x[7, 2, 3] * 16 == raw.images[7][2][3]
    assert data.labels[7] == raw.target[7]


@pytest.mark.parametrize(
    ("dataset", "action", "message"),
    [
        ("minst", "C4", "no 'minst': did you mean 'mnist'"),
        ("mnist", "S4", "expected an action of C4"),
        ("points", "C4", "expected an action of C8, S4"),
    ],
)
def test_unknown_data_and_actions_are_refused(dataset, action, message):
    with pytest.raises(InputError, match=message):
        quality_question(dataset, action, 3, "sample", seed=0)
