"""A store survives kills, damage and full disks, and never passes for another Gram."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from symscope.errors import InputError
from symscope.kernels._gram._gram import gram
from symscope.kernels._gram._storage import open_gram, stored_tile
from tests.kernels.toy import counted, points, polynomial

ROOT = Path(__file__).parents[3]
X = points(40, 3)
Y = points(23, 3, seed=1)


def computed(log: Path) -> int:
    """Tiles computed so far; single entries are the probes of the header, not tiles."""
    return log.read_bytes().count(b"x") if log.exists() else 0


def damage(store: Path, byte: int) -> None:
    with open(store / "gram.npy", "r+b") as file:
        file.seek(byte)
        value = file.read(1)
        file.seek(byte)
        file.write(bytes([value[0] ^ 0x10]))


@pytest.mark.parametrize("x2", [None, Y], ids=["symmetric", "cross"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_stored_is_the_answer_in_memory_and_an_ordinary_npy(tmp_path, x2, dtype):
    expected = gram(polynomial, X, x2, tile=9, dtype=dtype)
    K = gram(polynomial, X, x2, tile=9, dtype=dtype, store=tmp_path / "K")
    assert torch.equal(K, expected)
    assert torch.equal(open_gram(tmp_path / "K"), expected)
    assert np.array_equal(np.load(tmp_path / "K" / "gram.npy"), expected.numpy())


def test_a_second_call_computes_nothing(tmp_path):
    kernel, log = counted(tmp_path / "log"), tmp_path / "log"
    first = gram(kernel, X, tile=10, store=tmp_path / "K")
    assert computed(log) == 10
    seen = []
    second = gram(
        kernel, X, store=tmp_path / "K", progress=lambda what, done, total: seen.append((done, total))
    )
    assert computed(log) == 10
    assert torch.equal(first, second)
    assert seen == [(1000, 1000)]


def test_changing_the_tensor_does_not_change_the_file(tmp_path):
    K = gram(polynomial, X, store=tmp_path / "K")
    before = K.clone()
    K.zero_()
    assert torch.equal(open_gram(tmp_path / "K"), before)


SCRIPT = """
    import sys
    from pathlib import Path
    from symscope.kernels._gram._gram import gram
    from tests.kernels.toy import counted, points
    log, store = map(Path, sys.argv[1:])
    gram(counted(log, pause=0.02), points(40, 3), tile=5, store=store)
"""


@pytest.mark.parametrize("after", [0, 1, 13])
def test_killed_at_any_moment_it_goes_on_where_it_stopped(tmp_path, after):
    log, store = tmp_path / "log", tmp_path / "K"
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(log), str(store)]
    process = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ, OMP_NUM_THREADS="1"))
    deadline = time.monotonic() + 60
    while computed(log) < after or not store.exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    journal = store / "journal.txt"
    kept = journal.read_bytes().count(b"\n") if journal.exists() else 0
    assert kept >= after - 1  # the tile being computed is all that is lost
    assert kept < 36
    with pytest.raises(InputError, match=r"tiles are missing|found none"):
        open_gram(store)
    log.unlink(missing_ok=True)
    K = gram(counted(log), X, tile=5, store=store)
    assert computed(log) == 36 - kept
    assert torch.equal(K, gram(polynomial, X, tile=5))
    assert torch.equal(open_gram(store), K)


@pytest.mark.parametrize("cut", [2, 5, 12, 25])
def test_a_line_cut_short_does_not_count(tmp_path, cut):
    log, store = tmp_path / "log", tmp_path / "K"
    K = gram(counted(log), X, tile=10, store=store).clone()
    journal = store / "journal.txt"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-cut])
    lines = whole[:-cut].count(b"\n")
    log.unlink()
    assert torch.equal(gram(counted(log), X, store=store), K)
    assert computed(log) == 10 - lines
    log.unlink()
    gram(counted(log), X, store=store)
    assert computed(log) == 0


def test_a_damaged_tile_is_reported_and_computed_again(tmp_path):
    log, store = tmp_path / "log", tmp_path / "K"
    K = gram(counted(log), X, tile=10, store=store).clone()
    damage(store, 128 + 8 * (40 * 35 + 2))  # below the diagonal
    damage(store, 128 + 8 * (40 * 15 + 28))  # above it: the mirror image counts too
    with pytest.raises(InputError, match=r"2 tiles do not match their checksum .*\(20, 30, 10, 20\)"):
        open_gram(store)
    assert not torch.equal(open_gram(store, verify=False), K)
    log.unlink()
    with pytest.warns(UserWarning, match="2 of 10 tiles do not match their checksum"):
        again = gram(counted(log), X, store=store)
    assert computed(log) == 2
    assert torch.equal(again, K)
    assert torch.equal(open_gram(store), K)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x1": points(40, 3, seed=5)}, "holds another Gram .x1:"),
        ({"x2": Y}, "holds another Gram .shape:"),
        ({"dtype": torch.float32}, "dtype: float64 there, float32 here"),
        ({"tile": 7}, r"tile: \[10, 10\] there, \[7, 7\] here"),
        ({"name": "other"}, "kernel: counted there, other here"),
        ({"memory": 1000}, "a tile of 10 x 10 of kernel 'counted' .* the smallest that would do"),
    ],
)
def test_a_store_of_something_else(tmp_path, change, message):
    log = tmp_path / "log"
    gram(counted(log), X, tile=10, store=tmp_path / "K")
    before = (tmp_path / "K" / "gram.npy").read_bytes()
    options = {key: change[key] for key in ("dtype", "tile", "memory") if key in change}
    kernel = counted(log, name=change.get("name", "counted"))
    with pytest.raises(InputError, match=message):
        gram(kernel, change.get("x1", X), change.get("x2"), store=tmp_path / "K", **options)
    assert (tmp_path / "K" / "gram.npy").read_bytes() == before


def test_another_kernel_of_the_same_name_is_noticed(tmp_path):
    from dataclasses import replace

    gram(polynomial, X, store=tmp_path / "K")
    other = replace(polynomial, blocks=lambda a, b: 1.001 * polynomial.blocks(a, b))
    with pytest.raises(InputError, match=r"holds another Gram .probe:"):
        gram(other, X, store=tmp_path / "K")


def test_resuming_uses_the_tiles_it_began_with(tmp_path):
    assert stored_tile(tmp_path / "K") is None
    gram(polynomial, X, Y, tile=9, store=tmp_path / "K")
    assert stored_tile(tmp_path / "K") == (9, 9)


def test_executors_write_to_the_same_store(tmp_path):
    with ThreadPoolExecutor(3) as executor:
        K = gram(polynomial, X, tile=6, store=tmp_path / "K", executor=executor)
    assert torch.equal(K, gram(polynomial, X, tile=6))
    assert torch.equal(open_gram(tmp_path / "K"), K)


def test_two_writers_are_kept_apart(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    gram(polynomial, X, store=tmp_path / "K")
    with open(tmp_path / "K" / "journal.txt", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is writing to it"):
            gram(polynomial, X, store=tmp_path / "K")


LIMITED = """
    import resource, sys
    sys.dont_write_bytecode = True  # Python keeps half a file of it, and fails later
    from symscope.errors import InputError
    from symscope.kernels._gram._gram import gram
    from tests.kernels.toy import points, polynomial
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    try:
        gram(polynomial, points(40, 3), tile=10, store=sys.argv[1])
    except InputError as error:
        print(error)
"""


def test_no_room_for_the_file(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(tmp_path / "K")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "no space: it needs 12.93 kB" in result.stdout
    assert list((tmp_path / "K").iterdir()) == []  # its space is given back, and the next call starts afresh
    assert torch.equal(gram(polynomial, X, store=tmp_path / "K"), gram(polynomial, X))


def test_a_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs rights this user has not")
    try:
        with pytest.raises(InputError, match=r"no space: it needs 320.13 kB, .* are free"):
            gram(polynomial, points(200, 3), store=disk / "K")
        assert torch.equal(gram(polynomial, X[:10], store=disk / "small"), gram(polynomial, X[:10]))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_read_only_folder(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(disk)], capture_output=True
    ).returncode:
        os.chmod(disk, 0o500)
        if os.access(disk, os.W_OK):
            pytest.skip("this user can write anywhere and cannot mount")
    try:
        with pytest.raises(InputError, match=r"cannot be used .*(Read-only|Permission denied)"):
            gram(polynomial, X, store=disk / "K")
    finally:
        subprocess.run(["umount", str(disk)], capture_output=True)


def test_a_file_or_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"expected a new or empty folder, it holds 'notes.txt'"):
        gram(polynomial, X, store=tmp_path)
    with pytest.raises(InputError, match="cannot be used"):
        gram(polynomial, X, store=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_no_store_and_a_spoilt_header(tmp_path):
    with pytest.raises(InputError, match="expected a folder made by gram"):
        open_gram(tmp_path / "nowhere")
    gram(polynomial, X, store=tmp_path / "K")
    header = tmp_path / "K" / "header.json"
    good = header.read_text()
    header.write_text(good[:20])
    with pytest.raises(InputError, match=r"header.json cannot be read .*delete the folder"):
        open_gram(tmp_path / "K")
    header.write_text(json.dumps({**json.loads(good), "format": "symscope gram 99"}))
    with pytest.raises(InputError, match="expected format 'symscope gram 1'"):
        gram(polynomial, X, store=tmp_path / "K")
