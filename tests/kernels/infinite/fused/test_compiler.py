from __future__ import annotations

import os
import stat

import pytest

from symscope.kernels.infinite._fused import _compiler as module
from symscope.kernels.infinite._fused._compiler import compiler, library

SQUARE = "int square(int x) { return x * x; }\n"
needs_compiler = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """A cache folder of its own, and nothing remembered from other tests."""
    monkeypatch.setenv("SYMSCOPE_CACHE", str(tmp_path / "cache"))
    module.compiler.cache_clear()
    module.library.cache_clear()
    yield
    module.compiler.cache_clear()
    module.library.cache_clear()


@needs_compiler
def test_compiled_once_and_found_again(tmp_path, monkeypatch):
    assert library(SQUARE).square(7) == 49
    [path] = (tmp_path / "cache").iterdir()
    stamp = path.stat().st_mtime_ns
    module.library.cache_clear()
    monkeypatch.setattr(module, "_compile", lambda *_: pytest.fail("compiled again"))
    assert library(SQUARE).square(8) == 64
    assert path.stat().st_mtime_ns == stamp


@needs_compiler
def test_a_compiler_that_fails_is_reported():
    with pytest.warns(RuntimeWarning, match="without compiled code, more slowly: .*error"):
        assert library("this is not C") is None


@needs_compiler
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder nobody can write to")
def test_a_cache_that_cannot_be_written_is_reported(monkeypatch):
    monkeypatch.setenv("SYMSCOPE_CACHE", "/proc/self/symscope")
    with pytest.warns(RuntimeWarning, match="without compiled code"):
        assert library(SQUARE) is None


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
    module.compiler.cache_clear()
    monkeypatch.setenv("SYMSCOPE_COMPILE", "0")
    assert compiler() is None
