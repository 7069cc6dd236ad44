from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from symscope.data.bundled.make_sample import main, write_sample
from symscope.errors import InputError
from tests.data.idx_bytes import digits, write_split

IMAGES, LABELS = digits(57, seed=4)


def test_takes_the_first_of_each_class(tmp_path):
    write_split(tmp_path, IMAGES, LABELS)
    command = [sys.executable, "-m", "symscope.data.bundled.make_sample", str(tmp_path)]
    out = tmp_path / "sample.npz"
    subprocess.run([*command, "--out", str(out), "--per-class", "3"], check=True)
    expected = [i for digit in range(10) for i in np.flatnonzero(digit == LABELS)[:3]]
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["indices"].tolist() == expected
        np.testing.assert_array_equal(arrays["images"], IMAGES[expected])
        np.testing.assert_array_equal(arrays["labels"], LABELS[expected])


def test_the_same_files_give_the_same_bytes(tmp_path):
    write_split(tmp_path, IMAGES, LABELS)
    for name in ("one.npz", "two.npz"):
        write_sample(tmp_path, tmp_path / name, 2)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_too_few_images_and_missing_folders(tmp_path, capsys):
    write_split(tmp_path, IMAGES, LABELS)
    with pytest.raises(InputError, match=r"class \d has \d images, 50 were asked for"):
        write_sample(tmp_path, tmp_path / "sample.npz", 50)
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert not Path(tmp_path / "sample.npz").exists()
