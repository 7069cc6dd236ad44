"""The digits an experiment asks for."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample
from symscope_papers.digits import digits


def test_what_is_asked_for_is_never_replaced_by_the_sample(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"mnist=fetched: this needs all of MNIST.*--set mnist=FOLDER"):
        digits("fetched")
    with pytest.raises(InputError, match=r"which is not in .*nowhere"):
        digits(str(tmp_path / "nowhere"))
    assert len(digits("sample")) == 2000


def test_a_folder_of_mnist_is_read(tmp_path):
    sample = mnist_sample().take(torch.tensor([3, 700, 1200]))
    pixels = (sample.x * 255).round().to(torch.uint8).numpy().tobytes()
    labels = sample.labels.to(torch.uint8).numpy().tobytes()
    header = b"".join(size.to_bytes(4, "big") for size in (3, 28, 28))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(bytes((0, 0, 8, 3)) + header + pixels)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(bytes((0, 0, 8, 1)) + header[:4] + labels)
    with pytest.raises(InputError, match="t10k-images"):
        digits(str(tmp_path), "test")
    read = digits(str(tmp_path))
    assert torch.equal(read.x, sample.x)
    assert torch.equal(read.labels, sample.labels)
