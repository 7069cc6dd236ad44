from __future__ import annotations

import zipfile

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symscope.data._arrays import are_classes, load_arrays, load_measured
from symscope.errors import InputError

X = np.random.default_rng(0).normal(size=(5, 3, 2))
Y = np.array([4, 0, 4, 1, 0])


class Trap:
    """Unpickling this would leave a trace."""

    opened = False

    def __setstate__(self, state: object) -> None:
        Trap.opened = True


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_reads_what_was_saved(data, tmp_path):
    kind = data.draw(st.sampled_from(["float64", "float32", "float16", "uint8", "int16", "bool"]))
    finite = {"allow_nan": False, "allow_infinity": False} if kind.startswith("float") else {}
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=4, max_side=4))
    x = data.draw(hnp.arrays(kind, shape, elements=hnp.from_dtype(np.dtype(kind), **finite)))
    y = data.draw(hnp.arrays("int64", shape[:1], elements=st.integers(-9, 9)))
    np.savez_compressed(tmp_path / "mine.npz", images=x, classes=y)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    read = load_arrays(tmp_path / "mine.npz", x="images", y="classes")
    np.testing.assert_array_equal(read.x.numpy(), x.astype(np.float64))
    np.testing.assert_array_equal(read.labels.numpy(), y)
    assert read.name == "mine"
    assert read.source == str(tmp_path / "mine.npz")
    pair = load_arrays(tmp_path / "x.npy", labels=tmp_path / "y.npy")
    assert torch.equal(pair.x, read.x)
    assert torch.equal(pair.labels, read.labels)


@pytest.mark.parametrize("y", [Y.astype(float), Y.astype(np.uint8), Y > 0, Y.astype(">i8")])
def test_labels_may_be_any_whole_numbers(y, tmp_path):
    np.savez(tmp_path / "mine.npz", X=X, y=y)
    assert load_arrays(str(tmp_path / "mine.npz")).labels.tolist() == y.astype(int).tolist()


def test_type_of_inputs_is_the_callers(tmp_path):
    np.savez(tmp_path / "mine.npz", X=X, y=Y)
    assert load_arrays(tmp_path / "mine.npz", dtype=torch.float32).x.dtype == torch.float32


def test_missing_keys_are_told_with_those_that_are_there(tmp_path):
    np.savez(tmp_path / "mine.npz", images=X, labels=Y)
    with pytest.raises(InputError, match=r"expected arrays 'X' and 'y', got 'images', 'labels'; save them"):
        load_arrays(tmp_path / "mine.npz")
    with pytest.raises(InputError, match=r"'images' and 'zzz'.*load_arrays"):
        load_arrays(tmp_path / "mine.npz", x="images", y="zzz")
    assert len(load_arrays(tmp_path / "mine.npz", x="images", y="labels")) == len(Y)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, Y[:-1], "got 5 inputs, 4 labels"),
        (
            X[:, 0, 0],
            Y,
            r"expected inputs \[n, \*shape\] with two axes or more, got shape \(5,\); .*x\[:, None\]",
        ),
        (X[:0], Y[:0], "at least one"),
        (
            X,
            np.eye(5),
            r"one class number for each sample, got shape \(5, 5\); .* use y.argmax",
        ),
        (X, np.array(3), r"got shape \(\)"),
        (X, Y + 0.5, "expected whole numbers as classes, got 4.5 at index 0"),
        (X, np.where(Y == 1, np.nan, Y), "whole numbers as classes, got nan at index 3"),
        (X, Y * 1e30, "whole numbers as classes, got 4e\\+30 at index 0"),
        (X, np.array(list("abcab")), "whole numbers as classes, got <U1; number the classes"),
        (X + 1j, Y, "expected real numbers, got complex128"),
        (X.astype(str), Y, "expected real numbers, got <U"),
        (np.where(X > 1, np.nan, X), Y, r"of 30 entries NaN or infinite, the first at index"),
    ],
)
def test_arrays_that_do_not_fit(x, y, message, tmp_path):
    np.savez(tmp_path / "mine.npz", X=x, y=y)
    with pytest.raises(InputError, match=message):
        load_arrays(tmp_path / "mine.npz")


def test_objects_are_refused_and_never_opened(tmp_path):
    objects = np.array([Trap() for _ in range(5)], dtype=object)
    np.savez(tmp_path / "trap.npz", X=objects, y=Y)
    np.save(tmp_path / "trap.npy", objects)
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(InputError, match=r"trap.npz: expected arrays of numbers, got an object array"):
        load_arrays(tmp_path / "trap.npz")
    with pytest.raises(InputError, match=r"trap.npy: expected arrays of numbers, got an object array"):
        load_arrays(tmp_path / "trap.npy", labels=tmp_path / "y.npy")
    assert not Trap.opened


def test_files_that_are_something_else(tmp_path):
    (tmp_path / "text.npz").write_text("hello, world")
    with pytest.raises(InputError, match=r"expected a .npz or .npy file, got one that starts with b'hello,'"):
        load_arrays(tmp_path / "text.npz")
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(InputError, match="starts with b''"):
        load_arrays(tmp_path / "empty.npz")
    with pytest.raises(InputError, match="No such file"):
        load_arrays(tmp_path / "nothing.npz")


@pytest.mark.parametrize("compressed", [False, True])
def test_damaged_archives(compressed, tmp_path):
    path = tmp_path / "mine.npz"
    (np.savez_compressed if compressed else np.savez)(path, X=X, y=Y)
    whole = path.read_bytes()
    for length in range(6, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="the file is damaged"):
            load_arrays(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 4] ^= 0xFF  # inside the stored numbers: the archive's own check sum notices
    path.write_bytes(flipped)
    with pytest.raises(InputError, match="the file is damaged"):
        load_arrays(path)


def test_an_archive_with_something_else_in_the_place_of_an_array(tmp_path):
    path = tmp_path / "mine.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", b"these bytes are no array")
        archive.writestr("y.npy", b"nor are these")
    with pytest.raises(InputError, match="the file is damaged"):
        load_arrays(path)


def test_damaged_arrays(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    whole = (tmp_path / "x.npy").read_bytes()
    for length in (6, 9, 40, 128, len(whole) - 1):
        (tmp_path / "x.npy").write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"x.npy: the file is damaged"):
            load_arrays(tmp_path / "x.npy", labels=tmp_path / "y.npy")


def test_labels_belong_to_npy_files_only(tmp_path):
    np.savez(tmp_path / "mine.npz", X=X, y=Y)
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(InputError, match=r"a .npy file holds one array; give the labels' file too"):
        load_arrays(tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"a .npz file holds its own labels"):
        load_arrays(tmp_path / "mine.npz", labels=tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"expected a .npy file, got a .npz archive"):
        load_arrays(tmp_path / "x.npy", labels=tmp_path / "mine.npz")


def test_numbers_to_predict_are_read_as_they_are(tmp_path):
    x, y = np.arange(12.0).reshape(4, 3), np.array([[0.5, 1], [2, 3], [4, 5], [-1, 2]])
    np.savez(tmp_path / "two.npz", X=x, y=y)
    assert load_measured(tmp_path / "two.npz").targets.tolist() == y.tolist()
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.arange(4))
    result = load_measured(tmp_path / "x.npy", targets=tmp_path / "y.npy")
    assert result.targets[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    np.savez(tmp_path / "words.npz", X=x, y=np.array(["a", "b", "c", "d"]))
    with pytest.raises(InputError, match="expected real numbers to predict"):
        load_measured(tmp_path / "words.npz")
    np.savez(tmp_path / "short.npz", X=x, y=y[:2])
    with pytest.raises(InputError, match="got 4 inputs, 2 targets"):
        load_measured(tmp_path / "short.npz")


def test_whole_numbers_are_classes_unless_told_otherwise():
    assert are_classes(np.array([3, 1, 4]), "y")
    assert are_classes(np.array([3.0, np.nan]), "y")  # refused as classes, with the place
    assert not are_classes(np.array([3.0, 0.25]), "y")
    assert not are_classes(np.array([[3], [1]]), "y")
    with pytest.raises(InputError, match="look like one-hot classes"):
        are_classes(np.eye(3)[[0, 2, 1, 1]], "y")


def test_labels_may_be_as_large_as_whole_numbers_get(tmp_path):
    labels = np.array([-(2**63), 2**63 - 1, 2 * 10**15, -1, 2**53 + 1])
    np.savez(tmp_path / "mine.npz", X=X, y=labels)
    assert load_arrays(tmp_path / "mine.npz").labels.tolist() == labels.tolist()
    np.savez(tmp_path / "mine.npz", X=X, y=np.array([0, 1, 2**63, 1, 0], dtype=np.uint64))
    with pytest.raises(InputError, match=r"whole numbers as classes, got 9223372036854775808 at index 2"):
        load_arrays(tmp_path / "mine.npz")


def test_numbers_beyond_double_precision_are_refused(tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.full((5, 2), np.longdouble("1e400")), y=Y)
    with pytest.raises(InputError, match=r"NaN or infinite|savez"):
        load_arrays(tmp_path / "mine.npz")


def test_large_fractions_are_numbers_to_predict():
    assert not are_classes(np.array([1.5e160, 2e160]), "y")
    assert are_classes(np.array([2**60, -(2**60)]), "y")
