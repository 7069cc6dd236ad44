from __future__ import annotations

import pytest
import torch

from symscope.data import LabelledData, mnist_sample, orbits, rotation
from symscope.data.images import flip
from symscope.errors import InputError
from symscope.training import StoredPoints
from symscope.training import points as points_module
from symscope.training.points import GeneratedPoints, stored_orbits
from tests.tolerances import ROUNDING

CPU = torch.device("cpu")


def digits(count: int = 1) -> LabelledData:
    return mnist_sample().per_class(count, seed=3)


def test_stored_and_acted_are_the_standardised_orbits():
    data = digits()
    flat = orbits(data.x, rotation(8), data.labels).flat()
    expected = LabelledData(flat.points, flat.labels, "orbits", "rotated").standardised().x[:, None]
    stored, acted = (
        stored_orbits(data.x, rotation(8), torch.float64, CPU),
        GeneratedPoints(data.x, rotation(8)),
    )
    everything = torch.arange(80)
    assert len(stored) == len(acted) == 80
    torch.testing.assert_close(stored.take(everything), expected, rtol=ROUNDING, atol=ROUNDING)
    torch.testing.assert_close(acted.take(everything), expected, rtol=ROUNDING, atol=ROUNDING)
    two = torch.tensor([[3, 79], [41, 8]])
    assert torch.equal(stored.take(two), stored.points[two])
    torch.testing.assert_close(acted.take(two), expected[two], rtol=ROUNDING, atol=ROUNDING)


def test_pieces_do_not_show(monkeypatch):
    data = digits()
    whole = stored_orbits(data.x, rotation(4), torch.float32, CPU).points
    real = points_module.math.prod
    # pretend that samples are so large that only three fit in a piece
    monkeypatch.setattr(points_module.math, "prod", lambda shape: real(shape) * 2**25 // (3 * 4 * 784))
    assert torch.equal(stored_orbits(data.x, rotation(4), torch.float32, CPU).points, whole)


def test_checkpoints_tell_points_apart():
    data = digits()
    acted = GeneratedPoints(data.x, rotation(8))
    assert acted.problem() == GeneratedPoints(data.x.clone(), rotation(8)).problem()
    assert acted.problem() != GeneratedPoints(data.x, rotation(4)).problem()
    assert acted.problem() != GeneratedPoints(data.x + 1e-9, rotation(8)).problem()
    stored = stored_orbits(data.x, rotation(4), torch.float32, CPU)
    assert stored.problem() == stored.to(CPU).problem()
    assert stored.problem() != stored_orbits(data.x, rotation(4), torch.bfloat16, CPU).problem()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: StoredPoints(x[:0]), r"expected whole orbits of 1 points, got shape \(0, 28, 28\)"),
        (lambda x: StoredPoints(x, order=3), "expected whole orbits of 3 points"),
        (lambda x: StoredPoints(x / 0), "points from 0 on: expected finite numbers"),
        (lambda x: GeneratedPoints(x[0], rotation(4)), r"expected \[m, ...\] with 2 axes each"),
        (lambda x: GeneratedPoints(x / 0, flip("x")), "samples: expected finite numbers"),
        (
            lambda x: GeneratedPoints(torch.cat([x, torch.ones_like(x[:1])]), rotation(4)),
            "sample 10 is constant",
        ),
        (lambda x: stored_orbits(x[..., :20], rotation(8), torch.float64, CPU), "expected square images"),
    ],
)
def test_bad_points(make, message):
    with pytest.raises(InputError, match=message):
        make(digits().x)
