from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from symscope.data._download import RemoteFile, holds_content
from symscope.data.mnist_files import IDX_SETS, fetch_data, mnist
from symscope.errors import InputError
from tests.data.idx_bytes import digits, idx_bytes, write_split
from tests.data.local_mirror import Mirror, serving

IMAGES, LABELS = digits(23, seed=1)
TEST_IMAGES, TEST_LABELS = digits(11, seed=2)
CONTENTS = {
    "train-images-idx3-ubyte": idx_bytes(IMAGES),
    "train-labels-idx1-ubyte": idx_bytes(LABELS),
    "t10k-images-idx3-ubyte": idx_bytes(TEST_IMAGES),
    "t10k-labels-idx1-ubyte": idx_bytes(TEST_LABELS),
}


@pytest.fixture
def small_mnist(monkeypatch):
    """The names and the order of MNIST's files with small contents, so that a test can serve them."""
    files = tuple(
        RemoteFile(f"{name}.gz", len(content), hashlib.sha256(content).hexdigest())
        for name, content in CONTENTS.items()
    )
    monkeypatch.setitem(IDX_SETS, "mnist", replace(IDX_SETS["mnist"], files=files))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return {f"{name}.gz": gzip.compress(content) for name, content in CONTENTS.items()}


@pytest.mark.parametrize("layout", ["", "raw", "MNIST/raw"])
@pytest.mark.parametrize("joint", ["-", "."])
@pytest.mark.parametrize("packed", [False, True])
def test_reads_every_layout_and_spelling(layout, joint, packed, tmp_path):
    folder = tmp_path / layout
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in CONTENTS.items():
        spelled = name.replace("-idx", f"{joint}idx") + (".gz" if packed else "")
        (folder / spelled).write_bytes(gzip.compress(content) if packed else content)
    for split, images, labels in (("train", IMAGES, LABELS), ("test", TEST_IMAGES, TEST_LABELS)):
        data = mnist(tmp_path, split)
        assert data.x.dtype == torch.float64
        np.testing.assert_array_equal((data.x * 255).round().numpy(), images)
        assert data.x.min() >= 0
        assert data.x.max() <= 1
        np.testing.assert_array_equal(data.labels.numpy(), labels)
        assert data.indices.tolist() == list(range(len(labels)))
        assert data.name == f"MNIST {split}"
        assert data.source == str(folder)


def test_type_of_pixels_is_the_callers(tmp_path):
    write_split(tmp_path, IMAGES, LABELS)
    assert mnist(str(tmp_path), dtype=torch.float32).x.dtype == torch.float32


def test_unknown_splits(tmp_path):
    with pytest.raises(InputError, match="expected 'train' or 'test', got 'tset'; did you mean 'test'"):
        mnist(tmp_path, "tset")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(
        InputError, match=r"train-images-idx3-ubyte .*has no such file; fetch it with `symscope data"
    ):
        mnist(tmp_path)
    with pytest.raises(InputError, match="it is not a folder"):
        mnist(tmp_path / "nowhere")
    write_split(tmp_path, IMAGES, LABELS)
    with pytest.raises(InputError, match="t10k-images"):
        mnist(tmp_path, "test")
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(InputError, match="train-labels"):
        mnist(tmp_path)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (IMAGES, LABELS[:-1], "got 23 images and 22 labels; the two files do not belong together"),
        (IMAGES.astype(np.int32), LABELS, "expected images as bytes with 3 axes, got torch.int32"),
        (IMAGES[:, 0], LABELS, r"expected images as bytes with 3 axes, .* shape \(23, 28\)"),
        (IMAGES, IMAGES[:, 0], "expected labels as bytes with 1 axes"),
        (IMAGES, LABELS + 1, r"expected labels 0 \.\. 9, got 10"),
        (IMAGES[:0], LABELS[:0], "at least one"),
    ],
)
def test_files_that_are_not_mnist(images, labels, message, tmp_path):
    write_split(tmp_path, images, labels)
    with pytest.raises(InputError, match=message):
        mnist(tmp_path)


def test_damaged_files_are_named(tmp_path):
    write_split(tmp_path, IMAGES, LABELS)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(CONTENTS["train-images-idx3-ubyte"][:-1])
    with pytest.raises(InputError, match="train-images-idx3-ubyte: cut short"):
        mnist(tmp_path)


def test_fetches_what_is_missing_and_then_nothing(small_mnist, tmp_path):
    seen = set()
    with serving(Mirror(small_mnist)) as mirror:
        folder = fetch_data(
            "mnist", tmp_path / "mnist", [mirror.url], lambda name, done, total: seen.add(name)
        )
        assert seen == set(small_mnist)
        assert sorted(path.name for path in folder.iterdir()) == sorted(small_mnist)
        (folder / "t10k-labels-idx1-ubyte.gz").unlink()
        fetch_data("mnist", folder, [mirror.url])
        fetch_data("mnist", folder, [mirror.url])
    assert [path.rpartition("/")[2] for path in mirror.asked] == [
        *small_mnist,
        "t10k-labels-idx1-ubyte.gz",
    ]
    np.testing.assert_array_equal(mnist(folder).labels.numpy(), LABELS)
    np.testing.assert_array_equal(mnist(folder, "test").labels.numpy(), TEST_LABELS)


def test_files_of_another_layout_count_as_there(small_mnist, tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    write_split(raw, IMAGES, LABELS)
    write_split(raw, TEST_IMAGES, TEST_LABELS, "t10k")
    with serving(Mirror(small_mnist)) as mirror:
        fetch_data("mnist", tmp_path, [mirror.url])
    assert mirror.asked == []


def test_a_damaged_file_of_ours_is_fetched_again(small_mnist, tmp_path):
    with serving(Mirror(small_mnist)) as mirror:
        fetch_data("mnist", tmp_path, [mirror.url])
        (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(small_mnist["train-images-idx3-ubyte.gz"][:100])
        fetch_data("mnist", tmp_path, [mirror.url])
    assert len(mirror.asked) == 5
    assert len(mnist(tmp_path)) == len(LABELS)


def test_a_file_of_someone_elses_is_left_alone(small_mnist, tmp_path):
    mine = tmp_path / "train-images-idx3-ubyte"
    mine.write_bytes(b"mine")
    with (
        serving(Mirror(small_mnist)) as mirror,
        pytest.raises(InputError, match=r"train-images-idx3-ubyte: .*SHA-256 differs\); remove it"),
    ):
        fetch_data("mnist", tmp_path, [mirror.url])
    assert mine.read_bytes() == b"mine"
    assert mirror.asked == []


def test_offline_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(InputError, match=r"train-images.*no mirror gave it.*copy the file "):
        fetch_data("mnist", tmp_path, ["http://127.0.0.1:1/"])
    assert list(tmp_path.iterdir()) == []


def test_a_mirror_with_other_content_is_refused(monkeypatch, tmp_path):
    # the true digests, the small files: nothing may be kept
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = {f"{name}.gz": gzip.compress(content) for name, content in CONTENTS.items()}
    with serving(Mirror(served)) as mirror, pytest.raises(InputError, match="wrong SHA-256"):
        fetch_data("mnist", tmp_path, [mirror.url])
    assert list(tmp_path.iterdir()) == []


def test_bad_mirrors_make_no_folder(tmp_path):
    with pytest.raises(InputError, match="mirrors: expected"):
        fetch_data("mnist", tmp_path / "new", ["ftp://example.org"])
    assert not (tmp_path / "new").exists()


def test_the_table_of_files_is_that_of_60000_and_10000_images():
    for one in IDX_SETS.values():
        assert {file.name: file.size for file in one.files} == {
            "train-images-idx3-ubyte.gz": 16 + 60000 * 784,
            "train-labels-idx1-ubyte.gz": 8 + 60000,
            "t10k-images-idx3-ubyte.gz": 16 + 10000 * 784,
            "t10k-labels-idx1-ubyte.gz": 8 + 10000,
        }
        assert all(mirror.startswith("https://") for mirror in one.mirrors)
    assert len({file.sha256 for one in IDX_SETS.values() for file in one.files}) == 8


def test_an_unknown_set(tmp_path):
    with pytest.raises(InputError, match="mnist and fashion-mnist, got 'fashion'"):
        fetch_data("fashion", tmp_path)


def test_a_set_is_called_by_its_name(tmp_path):
    write_split(tmp_path, IMAGES, LABELS)
    assert mnist(tmp_path, name="fashion-mnist").name == "Fashion-MNIST train"
    with pytest.raises(InputError, match=r"of Fashion-MNIST, .*`symscope data fetch fashion-mnist`"):
        mnist(tmp_path, "test", name="fashion-mnist")


@pytest.mark.skipif("SYMSCOPE_MNIST" not in os.environ, reason="set SYMSCOPE_MNIST to a folder with MNIST")
def test_the_real_files_have_the_digests_of_the_table(tmp_path):
    folder = Path(os.environ["SYMSCOPE_MNIST"])
    for file in IDX_SETS["mnist"].files:
        assert holds_content(folder / file.name, file)
    served = {file.name: (folder / file.name).read_bytes() for file in IDX_SETS["mnist"].files}
    with serving(Mirror(served)) as mirror:
        fetch_data("mnist", tmp_path, [mirror.url])
    train, test = mnist(tmp_path, dtype=torch.float32), mnist(tmp_path, "test", dtype=torch.float32)
    assert train.x.shape == (60000, 28, 28)
    assert test.x.shape == (10000, 28, 28)
    assert train.labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    # the mean and standard deviation that every MNIST tutorial states
    assert abs(train.x.mean().item() - 0.1307) < 1e-4
    assert abs(train.x.std().item() - 0.3081) < 1e-4
