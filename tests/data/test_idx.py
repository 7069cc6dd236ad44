from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symscope.data._idx import read_idx
from symscope.errors import InputError
from tests.data.idx_bytes import CODES, idx_bytes

ARRAY = np.arange(24, dtype=np.int16).reshape(2, 3, 4) - 7


@pytest.mark.parametrize("name", sorted(CODES))
@pytest.mark.parametrize("packed", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(data=st.data())
def test_reads_what_was_written(name, packed, data, tmp_path):
    finite = {"allow_nan": False, "allow_infinity": False} if name.startswith("float") else {}
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=5))
    array = data.draw(hnp.arrays(name, shape, elements=hnp.from_dtype(np.dtype(name), **finite)))
    path = tmp_path / "array"
    path.write_bytes(gzip.compress(idx_bytes(array)) if packed else idx_bytes(array))
    read = read_idx(path)
    assert read.numpy().dtype == array.dtype
    np.testing.assert_array_equal(read.numpy(), array)


def test_an_empty_axis_is_no_error(tmp_path):
    (tmp_path / "none").write_bytes(idx_bytes(np.zeros((0, 3), np.uint8)))
    assert read_idx(tmp_path / "none").shape == (0, 3)


@pytest.mark.parametrize("length", range(len(idx_bytes(ARRAY))))
def test_every_truncation_is_noticed(length, tmp_path):
    path = tmp_path / "short"
    path.write_bytes(idx_bytes(ARRAY)[:length])
    with pytest.raises(InputError, match=r"cut short|less than its four-byte magic"):
        read_idx(path)


@pytest.mark.parametrize("packed", [False, True])
def test_bytes_left_over(packed, tmp_path):
    path = tmp_path / "long"
    body = idx_bytes(ARRAY) + b"\x00"
    path.write_bytes(gzip.compress(body) if packed else body)
    with pytest.raises(InputError, match=r"bytes left over after the 48 that shape \(2, 3, 4\) needs"):
        read_idx(path)


@pytest.mark.parametrize(
    "head", [b"\x01\x00\x08\x01", b"\x00\x00\x0a\x01", b"\x00\x00\x08\x00", b"\x00\x00\x08\xff"]
)
def test_wrong_magic_numbers(head, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(head + bytes(100))
    with pytest.raises(InputError, match=r"expected an IDX magic number.*not an IDX file"):
        read_idx(path)


def test_an_html_page_is_not_idx(tmp_path):
    (tmp_path / "page").write_text("<html>not found</html>")
    with pytest.raises(InputError, match="this is not an IDX file"):
        read_idx(tmp_path / "page")


def test_sizes_that_lie_allocate_nothing(tmp_path):
    # 2^32 x 2^32 x 2^32 entries would not fit into any memory
    path = tmp_path / "huge"
    path.write_bytes(b"\x00\x00\x08\x03" + b"\xff" * 12 + b"abc")
    with pytest.raises(InputError, match=r"cut short: .* got 3"):
        read_idx(path)


@pytest.mark.parametrize("cut", [3, 12, 30, -9, -1])
def test_gzip_cut_short(cut, tmp_path):
    path = tmp_path / "short.gz"
    path.write_bytes(gzip.compress(idx_bytes(ARRAY))[:cut])
    with pytest.raises(InputError, match="the gzip file is damaged or cut short"):
        read_idx(path)


@pytest.mark.parametrize("place", [1 / 4, 1 / 2, 3 / 4])
def test_gzip_with_a_flipped_byte(place, tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)
    packed = bytearray(gzip.compress(idx_bytes(noise)))
    packed[int(place * len(packed))] ^= 0x55
    path = tmp_path / "flipped.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match="the gzip file is damaged"):
        read_idx(path)


def test_gzip_followed_by_garbage(tmp_path):
    path = tmp_path / "garbage.gz"
    path.write_bytes(gzip.compress(idx_bytes(ARRAY)) + b"garbage")
    with pytest.raises(InputError, match="the gzip file is damaged"):
        read_idx(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(InputError, match="nothing: expected a readable IDX file, got: No such file"):
        read_idx(tmp_path / "nothing")
    with pytest.raises(InputError, match="Is a directory"):
        read_idx(tmp_path)


def test_gzip_that_would_fill_memory(tmp_path):
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b"\x00\x00\x08\x02\xff\xff\xff\xff\x00\x00\x00\x10" + bytes(10**5)))
    with pytest.raises(InputError, match=r"bomb: .* unpack to 68.72 GB"):
        read_idx(path)


def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="expected a readable IDX file, got: a pipe"):
        read_idx(tmp_path / "pipe")
