"""Data in every form a user may have them: arrays, datasets, files, folders, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from symscope.data import LabelledData, MeasuredData, as_samples
from symscope.errors import InputError
from tests.data.test_image_folder import folder_of_images
from tests.forecasting.own_code import Leaving

HERE = "tests.forecasting.own_code"


def data_from_source(source: str, limit: int | None = None, task: str = "auto"):
    """The samples alone."""
    return as_samples(source, task, limit)[0]


def test_arrays_and_datasets(tmp_path, monkeypatch):
    np.savez(tmp_path / "mine.npz", X=np.arange(24.0).reshape(6, 2, 2), y=np.arange(6) % 2)
    assert data_from_source(str(tmp_path / "mine.npz")).classes == (0, 1)
    result = data_from_source(f"{HERE}:dataset")
    assert (result.x.shape, result.name) == ((12, 6, 6), "dataset")
    assert len(data_from_source(f"{HERE}:dataset", limit=6)) == 6
    np.savez(tmp_path / "objects.npz", X=np.array([{}, {}]), y=np.arange(2))
    with pytest.raises(InputError, match="object array"):
        data_from_source(str(tmp_path / "objects.npz"))
    with pytest.raises(InputError, match="did you mean 'sample'"):
        data_from_source("smaple")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="symscope data fetch mnist"):
        data_from_source("mnist")


def test_a_limit_holds_for_every_source_and_leaves_no_class_out(tmp_path):
    x = np.arange(48.0).reshape(12, 2, 2)
    np.savez(tmp_path / "mine.npz", X=x, y=np.arange(12) % 3)
    few = data_from_source(str(tmp_path / "mine.npz"), limit=6)
    assert few.labels.tolist().count(1) == 2
    assert torch.equal(few.x, torch.from_numpy(x)[few.indices])
    np.savez(tmp_path / "numbers.npz", X=x, y=np.arange(12) + 0.5)
    some = data_from_source(str(tmp_path / "numbers.npz"), limit=5)
    assert (some.targets[:, 0].tolist(), some.name) == (
        [0.5, 2.5, 4.5, 7.5, 9.5],
        "numbers (5 of 12 samples)",
    )
    (tmp_path / "images").mkdir()
    folder_of_images(tmp_path / "images")
    (tmp_path / "images" / "cats" / "1.png").write_text("is not read")
    two = data_from_source(str(tmp_path / "images"), limit=2)
    assert (two.labels.tolist(), two.indices.tolist()) == ([0, 1], [0, 2])
    assert len(data_from_source("sample", limit=20).classes) == 10
    assert len(data_from_source(f"{HERE}:labelled", limit=4)) == 4
    assert len(data_from_source(str(tmp_path / "mine.npz"), limit=10**9)) == 12
    with pytest.raises(InputError, match=r"its first 1 samples are all of class 0; .* raise --limit"):
        data_from_source(f"{HERE}:dataset", limit=1)
    for source in ("sample", str(tmp_path / "mine.npz"), str(tmp_path / "images"), f"{HERE}:dataset"):
        with pytest.raises(InputError, match="limit"):
            data_from_source(source, limit=0)


def test_classes_are_called_what_the_user_calls_them(tmp_path):
    x = np.arange(24.0).reshape(6, 2, 2)
    path = str(tmp_path / "mine.npz")
    np.savez(path, X=x, y=np.array(["dog", "cat", "élan", "cat", "dog", "élan"]))
    assert data_from_source(path).labels.tolist() == [1, 0, 2, 0, 1, 2]
    assert data_from_source(path, task="classification").labels.tolist() == [1, 0, 2, 0, 1, 2]
    assert as_samples(path)[1] == ("cat", "dog", "élan")
    with pytest.raises(InputError, match="expected real numbers to predict, got <U4"):
        data_from_source(path, task="regression")
    np.savez(path, X=x.astype(str), y=np.array(["dog", "cat"] * 3))
    with pytest.raises(InputError, match=r"mine.npz \(X\): expected real numbers, got <U"):
        data_from_source(path)
    np.savez(path, images=x, labels=np.arange(6) % 2)
    with pytest.raises(InputError, match="expected arrays 'X' and 'y', got 'images', 'labels'"):
        data_from_source(path)
    np.savez(path, X=x, y=np.arange(6) % 2)
    assert as_samples(path)[1] is None
    (tmp_path / "images").mkdir()
    assert as_samples(folder_of_images(tmp_path / "images"))[1] == ("cats", "dogs")
    assert as_samples(f"{HERE}:dataset")[1] is None


def test_the_task_is_read_off_the_labels_unless_it_is_given(tmp_path):
    x = np.arange(24.0).reshape(6, 2, 2)
    path = str(tmp_path / "mine.npz")
    np.savez(path, X=x, y=np.arange(6) % 3)
    assert isinstance(data_from_source(path), LabelledData)
    assert data_from_source(path, task="regression").targets[:, 0].tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
    np.savez(path, X=x, y=np.array([0.5, 1, 2, 3, 4, 5]))
    assert isinstance(data_from_source(path), MeasuredData)
    with pytest.raises(InputError, match=r"expected whole numbers as classes, got 0\.5 at index 0"):
        data_from_source(path, task="classification")
    np.savez(path, X=x, y=np.arange(12.0).reshape(6, 2))
    assert data_from_source(path).targets.shape == (6, 2)
    np.savez(path, X=x, y=np.eye(3)[np.arange(6) % 3])
    with pytest.raises(InputError, match="look like one-hot"):
        data_from_source(path)
    assert data_from_source(path, task="regression").targets.shape == (6, 3)


def test_the_task_of_datasets():
    assert isinstance(data_from_source(f"{HERE}:dataset"), LabelledData)
    assert data_from_source(f"{HERE}:dataset", task="regression").targets.shape == (12, 1)
    result = data_from_source(f"{HERE}:numbers", limit=8)
    assert (type(result), result.targets.shape) == (MeasuredData, (8, 2))
    with pytest.raises(InputError, match="expected one class number"):
        data_from_source(f"{HERE}:numbers", task="classification")
    with pytest.raises(InputError, match="its images have classes"):
        data_from_source("sample", task="regression")
    with pytest.raises(InputError, match="did you mean 'regression'"):
        data_from_source("sample", task="regresion")


X = np.random.default_rng(0).normal(size=(6, 2, 3))
WORDS = ["dog", "cat", "élan", "cat", "dog", "élan"]


@pytest.mark.parametrize("convert", [np.asarray, torch.as_tensor, np.ndarray.tolist])
@pytest.mark.parametrize("label", [list, np.array, torch.tensor, pd.Series, lambda y: np.array(y)[:, None]])
def test_every_kind_of_array_is_the_same_data(convert, label):
    samples, names = as_samples((convert(X), label([2, 0, 2, 1, 0, 2])))
    assert isinstance(samples, LabelledData)
    assert names is None
    np.testing.assert_array_equal(samples.x.numpy(), X)
    assert (samples.x.dtype, samples.labels.tolist()) == (torch.float64, [2, 0, 2, 1, 0, 2])
    assert as_samples((convert(X), label([0.5, 1, 2, 3, 4, 5])))[0].targets[:, 0].tolist() == [
        0.5,
        1,
        2,
        3,
        4,
        5,
    ]


@pytest.mark.parametrize("words", [list, np.array, pd.Series, lambda y: np.array(y, dtype=object)])
def test_words_become_names_of_classes_in_arrays_and_datasets(words):
    by_array = as_samples((X, words(WORDS)))
    by_dataset = as_samples(list(zip(torch.tensor(X), words(WORDS), strict=True)))
    for samples, names in (by_array, by_dataset):
        assert (samples.labels.tolist(), names) == ([1, 0, 2, 0, 1, 2], ("cat", "dog", "élan"))


def test_a_list_of_two_arrays_is_a_pair_and_a_list_of_two_pairs_a_dataset():
    assert len(as_samples([X, np.arange(6) % 2])[0]) == 6
    assert len(as_samples([(X[0], 0), (X[1], 1)])[0]) == 2


def test_samples_as_they_are_and_with_a_limit():
    mine = LabelledData(torch.tensor(X), torch.arange(6) % 3, "mine", "tests")
    assert as_samples(mine)[0] is mine
    assert as_samples(mine, limit=3)[0].labels.tolist() == [0, 1, 2]
    assert as_samples(mine, "regression")[0].targets[:, 0].tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
    numbers = MeasuredData(torch.tensor(X), torch.arange(6.0), "mine", "tests")
    with pytest.raises(InputError, match="numbers to predict; leave the task classification out"):
        as_samples(numbers, "classification")


class Endless(IterableDataset):
    def __iter__(self):
        return iter(lambda: (X[0], 1), None)


PAIRS = TensorDataset(torch.tensor(X), torch.arange(6) % 2)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((X, np.arange(5)), "y: expected one label for each of 6 samples, got 5"),
        ((X[:0], []), r"expected inputs \[n, \*shape\], at least one, got shape \(0, 2, 3\)"),
        ((X, np.zeros((6, 2, 0))), r"expected targets \[n\] or \[n, \*t\], .* got shape \(6, 2, 0\)"),
        ((X[:0], np.zeros((0, 3))), r"expected inputs .*, at least one, got shape \(0, 2, 3\)"),
        ((X, np.zeros((6, 3), complex)), "y: expected real numbers, got complex128"),
        ((X, 3), "y: expected one label for each of 6 samples, got a single value"),
        ((X, np.eye(6)), "one-hot classes; use y.argmax"),
        ((X, [{}] * 6), "y: expected whole numbers as classes, got object"),
        ((X, torch.zeros(6, dtype=torch.complex64)), "y: expected real numbers, got torch.complex64"),
        ((np.arange(6), X), "swap them"),
        ((X[:, 0, 0], np.arange(6)), r"X: expected inputs .* use x\[:, None\]"),
        (([[1.0], [1.0, 2.0]], [0, 1]), "X: expected a rectangular array"),
        (X, r"got an array of shape \(6, 2, 3\) without labels; pass \(X, y\)"),
        ((X, X, X), r"expected \(X, y\), two arrays, got a tuple of 3"),
        (DataLoader(PAIRS), r"got a DataLoader, which gives batches; pass its dataset, loader.dataset"),
        (Endless(), r"iterable dataset \(Endless\), which may have no end; .*islice"),
        ({"X": X, "y": WORDS}, r"expected \(X, y\), a torch Dataset .* got dict"),
        (None, "got NoneType"),
        (Dataset(), "got Dataset"),
    ],
)
def test_what_is_refused_says_what_to_pass(data, said):
    with pytest.raises(InputError, match=said) as caught:
        as_samples(data)
    assert "\n" not in str(caught.value)


def test_an_error_of_the_user_s_dataset_names_its_line():
    with pytest.raises(InputError, match=r"data: its dataset raised SystemExit: 0 \(own_code.py, line \d+\)"):
        as_samples(Leaving())
