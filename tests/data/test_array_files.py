from __future__ import annotations

import contextlib
import io
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symscope.data._array_files import (
    check_data_room,
    check_regular_file,
    check_unpacked,
    read_arrays,
    read_elements,
)
from symscope.errors import InputError

X, Y = np.random.default_rng(0).normal(size=(5, 3, 2)), np.arange(5)


def npy_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def with_header(shape: str, descr: str = "<f8", body: bytes = bytes(64)) -> bytes:
    """An array in the .npy format whose header says what it likes."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body


def archive_of(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, content in members.items():
            archive.writestr(f"{key}.npy", content)
    return path


@pytest.mark.parametrize(
    "x",
    [
        with_header("(4000000000, 4, 4)"),
        with_header("(99999999999999999999, 4)"),
        with_header("(1099511627776, 1099511627776, 1099511627776)"),
        with_header("(-2, -4)"),
        with_header("(-1, 4)"),
        with_header("(True, 8)"),
        with_header("('a', 8)"),
        with_header("(2, 3)"),  # bytes left over
        with_header("(8,)", "<U99999999"),
        with_header("(999999999999,)", "<U0", b""),
        with_header("(" * 3000 + "8," + ")" * 3000),
        b"\x93NUMPY\x09\x00\x10\x00{}",
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}",
        b"no array",
        b"",
    ],
)
def test_headers_that_lie(x, tmp_path):
    for_file = tmp_path / "x.npy"
    for_file.write_bytes(b"\x93NUMPY" + x[6:])
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(InputError, match=r"mine.npz: the file is damaged \(.{1,200}\); save it again\."):
        read_arrays(archive_of(tmp_path / "mine.npz", X=x, y=npy_bytes(Y)))
    with pytest.raises(InputError, match=r"x.npy: the file is damaged"):
        read_arrays(for_file, labels=tmp_path / "y.npy")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7), packed=st.booleans())
def test_flipped_bits_are_noticed_or_harmless(place, bit, packed, tmp_path):
    path = tmp_path / "mine.npz"
    (np.savez_compressed if packed else np.savez)(path, X=X, y=Y)
    whole = bytearray(path.read_bytes())
    whole[place % len(whole)] ^= 1 << bit
    path.write_bytes(whole)
    with contextlib.suppress(InputError):
        x, y = read_arrays(path)  # harmless in a date that nobody reads
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(y, Y)


def test_archives_that_would_fill_memory(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", bytes(10**5))
        archive.writestr("y.npy", npy_bytes(Y))
    whole = (tmp_path / "bomb.npz").read_bytes()
    place = whole.index(b"PK\x01\x02") + 24  # the unpacked size in the first member's directory entry
    (tmp_path / "bomb.npz").write_bytes(whole[:place] + struct.pack("<I", 2**32 - 2) + whole[place + 4 :])
    with pytest.raises(InputError, match=r"bomb.npz \(X\): .* unpack to 4.3 GB; save it without compression"):
        read_arrays(tmp_path / "bomb.npz")
    with pytest.raises(InputError, match=r"at most 100 times"):
        check_unpacked("X", 10**30, 10**6)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method, tmp_path):
    with zipfile.ZipFile(tmp_path / "mine.npz", "w", method) as archive:
        archive.writestr("X.npy", npy_bytes(X))
        archive.writestr("y.npy", npy_bytes(Y))
    with pytest.raises(InputError, match=r"save it with numpy\.savez"):
        read_arrays(tmp_path / "mine.npz")


def test_encrypted_archives_are_refused(tmp_path):
    np.savez(tmp_path / "mine.npz", X=X, y=Y)
    whole = bytearray((tmp_path / "mine.npz").read_bytes())
    whole[whole.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "mine.npz").write_bytes(whole)
    with pytest.raises(InputError, match="encrypted"):
        read_arrays(tmp_path / "mine.npz")


def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(InputError, match=r"pipe.npz: expected a readable .* got: a pipe, socket or device"):
        read_arrays(tmp_path / "pipe.npz")
    with pytest.raises(InputError, match="Is a directory"):
        read_arrays(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        read_arrays(Path("nothing\0.npz"))
    with pytest.raises(InputError, match="File name too long"):
        check_regular_file(tmp_path / ("long" * 1000), "a file")


def test_data_must_fit_into_memory():
    check_data_room("X", 10**6)
    with pytest.raises(InputError, match=r"X: 1000000000000000 numbers: .* take fewer samples"):
        check_data_room("X", 10**15)


def test_a_file_may_say_in_which_transformation_each_sample_is(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, X=X, y=Y)
    assert read_elements(path) is None
    np.savez(path, X=X, y=Y, angles=[0, 90.5, -45, 0, 0])
    assert read_elements(path) == ("0°", "90.5°", "-45°", "0°", "0°")
    np.savez(path, X=X, y=Y, elements=["e", "r", "s", "e", "e"])
    assert read_elements(path) == ("e", "r", "s", "e", "e")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"angles": [0] * 5, "elements": [0] * 5}, "got both"),
        ({"angles": [[0] * 5]}, "a row of one for each sample"),
        ({"angles": ["a"] * 5}, "numbers of degrees"),
    ],
)
def test_elements_that_make_no_sense_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "mine.npz", X=X, y=Y, **arrays)
    with pytest.raises(InputError, match=message):
        read_elements(tmp_path / "mine.npz")
