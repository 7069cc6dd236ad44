from __future__ import annotations

import math

import torch

from symscope_papers.linear.training import asymmetry_of, decay_fit, recorded_epochs, training_path
from tests.tolerances import ROUNDING


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_runs_are_trained_as_if_alone():
    x, y, starts = draw(0, 12, 3), draw(1, 12, 2), draw(2, 4, 3, 2)
    record = torch.tensor([0, 1, 30])
    paths = training_path(x, y, starts, 0.03, record)
    assert paths.shape == (3, 4, 3, 2)
    assert torch.equal(paths[0], starts)
    for run in range(4):
        w = starts[run]
        for _ in range(30):
            w = w - 0.03 * 2 / 24 * x.T @ (x @ w - y)
        assert (paths[2, run] - w).abs().max() < ROUNDING


def test_records_end_with_the_last_epoch():
    assert recorded_epochs(1000, 7)[[0, -1]].tolist() == [0, 1000]
    assert recorded_epochs(3, 100).tolist() == [0, 1, 2, 3]


def test_a_fit_stops_at_the_first_record_of_rounding():
    times = torch.arange(20, dtype=torch.float64)
    sizes = torch.exp(-3 * times)
    sizes[10:] = 1e-14  # where rounding holds it
    rate, straight, used = decay_fit(times, sizes)
    assert abs(rate - 3) < ROUNDING
    assert abs(straight - 1) < ROUNDING
    assert used == 9  # exp(-27) is below 1e-11
    assert math.isnan(decay_fit(times[:2], sizes[:2])[0])
    assert decay_fit(times, times + 1)[0] < 0


def test_asymmetry_of_vector_outputs():
    swap = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    w = draw(3, 2, 2, 2)
    x = draw(4, 5, 2)
    rest = (w - swap[1] @ w @ swap[1]) / 2
    expected = torch.linalg.vector_norm(x @ rest, dim=-1).mean(1)
    assert (
        torch.tensor(asymmetry_of(w, x, swap, swap), dtype=torch.float64) - expected
    ).abs().max() < ROUNDING
