"""Data and actions by name: files, folders, functions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from symscope.data import (
    LabelledData,
    MeasuredData,
    action_from_source,
    class_names_from_source,
    data_from_source,
)
from symscope.errors import InputError
from tests.data.test_image_folder import folder_of_images

HERE = "tests.forecasting.own_code"


def test_arrays_and_datasets(tmp_path):
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
    with pytest.raises(InputError, match="symscope data fetch mnist"):
        data_from_source("mnist", tmp_path / "nowhere")


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
    assert class_names_from_source(path) == ("cat", "dog", "élan")
    with pytest.raises(InputError, match="expected real numbers to predict, got <U4"):
        data_from_source(path, task="regression")
    np.savez(path, X=x.astype(str), y=np.array(["dog", "cat"] * 3))
    with pytest.raises(InputError, match=r"mine.npz \(X\): expected real numbers, got <U"):
        data_from_source(path)
    np.savez(path, X=x, y=np.arange(6) % 2)
    assert class_names_from_source(path) is None
    (tmp_path / "images").mkdir()
    assert class_names_from_source(str(folder_of_images(tmp_path / "images"))) == ("cats", "dogs")
    assert class_names_from_source(f"{HERE}:dataset") is None


def test_an_action_of_one_s_own():
    action = action_from_source(f"{HERE}:negative", "C2", (6, 6))
    x = torch.rand(2, 6, 6, generator=torch.Generator().manual_seed(1))
    assert torch.equal(action.act(1, x), -x)
    with pytest.raises(InputError, match="listed finite group"):
        action_from_source(f"{HERE}:negative", "SO(3)", (6, 6))


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
