"""Data by name."""

from __future__ import annotations

import numpy as np
import pytest

from symscope import InputError
from symscope.cli.sources import labelled_data
from symscope.data import default_folder


def test_arrays_of_ones_own(tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.arange(18.0).reshape(2, 3, 3), y=[1, 0])
    assert labelled_data(str(tmp_path / "mine.npz")).labels.tolist() == [1, 0]


def test_fetched_data_is_looked_for_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder("mnist") == tmp_path / "symscope" / "mnist"
    with pytest.raises(InputError, match="run `symscope data fetch mnist` first"):
        labelled_data("mnist")


def test_unknown_sources_are_refused_with_the_nearest(tmp_path):
    with pytest.raises(InputError, match="did you mean 'sample'"):
        labelled_data("smaple")
    with pytest.raises(InputError):
        labelled_data(str(tmp_path))  # a folder without MNIST
