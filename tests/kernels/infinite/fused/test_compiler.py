from __future__ import annotations

import errno
import multiprocessing
import os
import stat
import subprocess
import warnings
from concurrent.futures import ProcessPoolExecutor

import pytest

from symscope.kernels.infinite._fused import _compiler as module
from symscope.kernels.infinite._fused._compiler import compiler, library

SQUARE = "int square(int x) { return x * x; }\n"
needs_compiler = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")


def forget():
    for remembered in (module.compiler, module.library, module._private_folder):
        remembered.cache_clear()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache folder of its own, and nothing remembered from other tests."""
    monkeypatch.setenv("SYMSCOPE_CACHE", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache" / "compiled"
    forget()


def squared(value):
    """The square by compiled code, and what was warned of."""
    if START is not None:
        START.wait(60)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return library(SQUARE).square(value), [str(one.message) for one in said]


def in_new_processes(count=1):
    """`squared` in other processes, all at once: a library that ends one fails only the test."""
    forking = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, forking, _set_start, (forking.Barrier(count),)) as pool:
        return [future.result(120) for future in [pool.submit(squared, 9) for _ in range(count)]]


START = None


def _set_start(barrier):
    global START
    START = barrier


@needs_compiler
def test_compiled_once_and_found_again(folder, monkeypatch):
    assert library(SQUARE).square(7) == 49
    [path] = folder.iterdir()
    stamp = path.stat().st_mtime_ns
    forget()
    monkeypatch.setattr(module, "_built", lambda *_: pytest.fail("compiled again"))
    assert library(SQUARE).square(8) == 64
    assert path.stat().st_mtime_ns == stamp


@needs_compiler
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folder_and_file_are_private_whatever_the_umask(umask, folder):
    before = os.umask(umask)
    try:
        assert library(SQUARE).square(3) == 9
    finally:
        os.umask(before)
    [path] = folder.iterdir()
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder, path)] == [0o700, 0o600]


def cut(path):
    path.write_bytes(path.read_bytes()[:5000])


def emptied(path):
    path.write_bytes(b"")


def bit_flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replaced(path):
    """By a library that works and has the right name, but is not what was built."""
    made = path.with_name("other.so")
    source = path.with_name("other.c")
    source.write_text("int square(int x) { return 666; }")
    subprocess.run([compiler(), "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
    source.unlink()
    made.replace(path)


def writable_by_others(path):
    path.chmod(0o666)


def linked(path):
    path.rename(path.parent.parent / "elsewhere.so")
    path.symlink_to(path.parent.parent / "elsewhere.so")


@needs_compiler
@pytest.mark.parametrize("damage", [cut, emptied, bit_flipped, replaced, writable_by_others, linked])
def test_a_file_that_is_not_what_was_built_is_built_again(damage, folder):
    in_new_processes()
    [path] = folder.iterdir()
    content = path.read_bytes()
    damage(path)
    assert in_new_processes() == [(81, [])]
    [again] = folder.iterdir()
    assert again.read_bytes() == content
    assert not again.is_symlink()
    assert stat.S_IMODE(again.stat().st_mode) == 0o600


@needs_compiler
def test_a_folder_others_can_write_to_is_not_used(folder):
    in_new_processes()
    folder.chmod(0o777)
    [path] = folder.iterdir()
    replaced(path)
    with pytest.warns(RuntimeWarning, match="not kept in .*yours and writable by you alone"):
        assert library(SQUARE).square(5) == 25
    assert (
        library("int twice(int x) { return 2 * x; }").twice(5) == 10
    )  # said once: a warning would fail this
    assert [path] == list(folder.iterdir())


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs another user's files")
@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_another_user_owns_is_not_loaded(whose, folder):
    in_new_processes()
    [path] = folder.iterdir()
    replaced(path)
    os.chown(folder if whose == "folder" else path, 65534, 65534)
    [(value, said)] = in_new_processes()
    assert value == 81
    assert ["not kept in" in line for line in said] == [True] * (whose == "folder")


@needs_compiler
def test_a_link_to_a_private_folder_of_ours_is_followed_and_no_other(folder):
    folder.parent.mkdir()
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    assert library(SQUARE).square(2) == 4
    assert len(list(elsewhere.iterdir())) == 1
    forget()
    elsewhere.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="not kept in"):
        assert library(SQUARE).square(2) == 4


@needs_compiler
def test_processes_that_build_at_the_same_time_leave_one_whole_file(folder):
    assert in_new_processes(4) == [(81, [])] * 4
    [path] = folder.iterdir()
    assert module._is_whole(path)


@needs_compiler
def test_what_killed_processes_left_is_removed_later_and_what_is_being_written_is_not(folder):
    folder.mkdir(parents=True, mode=0o700)
    old, new = folder / ".unfinished-1-a", folder / ".unfinished-1-b"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    assert library(SQUARE).square(4) == 16
    assert (old.exists(), new.exists()) == (False, True)


@needs_compiler
def test_a_compiler_that_fails_is_reported():
    with pytest.warns(RuntimeWarning, match="without compiled code, more slowly: .*error"):
        assert library("this is not C") is None


@needs_compiler
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder nobody can write to")
def test_without_a_folder_for_the_cache_code_is_compiled_for_the_process_alone(monkeypatch):
    monkeypatch.setenv("SYMSCOPE_CACHE", "/proc/self/symscope")
    with pytest.warns(RuntimeWarning, match="not kept in /proc/self/symscope"):
        assert library(SQUARE).square(6) == 36


@needs_compiler
def test_a_full_disk_does_not_cost_the_compiled_code(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "atomic_file", full)
    with pytest.warns(RuntimeWarning, match="not kept in .*No space left"):
        assert library(SQUARE).square(6) == 36


def test_none_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert compiler() is None
    assert library(SQUARE) is None


def test_the_users_choice_comes_first(tmp_path, monkeypatch):
    mine = tmp_path / "mycc"
    mine.write_text("#!/bin/sh\nexit 1\n")
    mine.chmod(mine.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(mine))
    assert compiler() == str(mine)
    forget()
    monkeypatch.setenv("SYMSCOPE_COMPILE", "0")
    assert compiler() is None
