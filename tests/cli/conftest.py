"""Data that several tests of `symscope forecast` are about."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cli.forecast_calls import KERNEL, OWN
from tests.forecasting.problems import blobs


@pytest.fixture
def few(tmp_path):
    data = blobs(items=4)
    np.savez(tmp_path / "mine.npz", X=data.x.numpy(), y=data.labels.numpy())
    return ("--data", str(tmp_path / "mine.npz"), *KERNEL)


@pytest.fixture
def more(tmp_path):
    """Six samples of each class, of which one is kept apart; the budget is never what ends a pilot."""
    data = blobs(items=6)
    np.savez(tmp_path / "more.npz", X=data.x.numpy(), y=data.labels.numpy())
    pilot = ("--method", "pilot", "--budget", "1h", "--steps", "30", "--group", "C4")
    return ("--model", f"{OWN}:build", "--data", str(tmp_path / "more.npz"), *pilot)
