"""C source to functions of this process, by the machine's own C compiler; kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

from symscope.numerics import atomic_file

# -ffast-math is left out on purpose: it would change how the whole process rounds tiny numbers.
FLAGS = (
    *("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC", "-w"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"),
)
UNFINISHED = 3600.0  # seconds after which a file that still has no name was left by a process that was killed


@cache
def compiler() -> str | None:
    """The C compiler: `$CC`, cc, gcc or clang; None if there is none, or if `SYMSCOPE_COMPILE=0`."""
    if os.environ.get("SYMSCOPE_COMPILE") == "0":
        return None
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def cache_folder() -> Path:
    """Where compiled code is kept: `compiled` in `$SYMSCOPE_CACHE` or in `symscope` of the user's cache."""
    given = os.environ.get("SYMSCOPE_CACHE")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "symscope"
    return (Path(given) if given else user) / "compiled"


@cache
def library(source: str) -> ctypes.CDLL | None:
    """The functions of a C source, compiled now or found in the cache; None if that is not possible here.

    The cache holds `KEY-DIGEST.so`: KEY names source and machine, DIGEST the content. A file is loaded only
    if its content has that digest and nobody else can have written it; any other is built anew. A folder that
    others own or can write to is not used: the code is then compiled for this process alone.

    A cache that cannot be used and a compiler that fails are reported, each by one warning; without compiled
    code the plain propagation does the work.
    """
    command = compiler()
    if command is None:
        return None
    words = [source, command, *FLAGS, platform.processor(), _cpu()]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
    folder = _private_folder(cache_folder())
    try:
        return (folder and _stored(folder, key)) or _built(command, source, folder, key)
    except (OSError, subprocess.SubprocessError) as error:
        detail = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
        warnings.warn(
            f"kernels run without compiled code, more slowly: {detail}", RuntimeWarning, stacklevel=2
        )
        return None


@cache
def _private_folder(folder: Path) -> Path | None:
    """The folder, made if missing; None, said once, if it cannot be written or others could write to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _only_ours(folder.stat()) and os.access(folder, os.W_OK | os.X_OK):
            return folder
        reason = "it must be yours and writable by you alone (chmod 700)"
    except OSError as error:
        reason = error.strerror or str(error)
    _warn_of_cache(folder, reason)
    return None


def _warn_of_cache(folder: Path, reason: str) -> None:
    warnings.warn(
        f"compiled code is not kept in {folder}: {reason}; every process compiles it again. Name another "
        "folder in SYMSCOPE_CACHE.",
        RuntimeWarning,
        stacklevel=4,
    )


def _only_ours(status: os.stat_result) -> bool:
    """Whether nobody but this user, and root, can have written a file or a folder."""
    if not hasattr(os, "geteuid"):  # Windows: the user's cache folder is private there
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _stored(folder: Path, key: str) -> ctypes.CDLL | None:
    """The library of a key if a whole one is in the folder; what is damaged or not ours is removed."""
    for path in sorted(folder.glob(f"{key}-*.so")):
        if _is_whole(path):
            return ctypes.CDLL(str(path))
        path.unlink(missing_ok=True)
    return None


def _is_whole(path: Path) -> bool:
    """Whether a file is a plain one of ours with the content its name promises.

    It is read to its end before anything loads it: loading a library that was cut off ends the process.
    """
    try:
        status = path.lstat()
        if not (stat.S_ISREG(status.st_mode) and _only_ours(status)):
            return False
        return path.stem.endswith(f"-{hashlib.sha256(path.read_bytes()).hexdigest()}")
    except FileNotFoundError:  # another process has just removed it
        return False


def _built(command: str, source: str, folder: Path | None, key: str) -> ctypes.CDLL:
    """The library, compiled in a folder that only this user can enter; kept in the cache, if there is one."""
    with tempfile.TemporaryDirectory(prefix="symscope-", ignore_cleanup_errors=True) as place:
        text, made = Path(place, "chain.c"), Path(place, "chain.so")
        text.write_text(source, encoding="utf-8")
        words = [command, *FLAGS, str(text), "-o", str(made), "-lm"]
        subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)
        if folder is not None:
            try:
                return ctypes.CDLL(str(_store(made.read_bytes(), folder, key)))
            except OSError as error:  # a full disk, or a disk whose files are not executed
                _warn_of_cache(folder, error.strerror or str(error))
        return ctypes.CDLL(str(made))  # stays loaded when its file is gone


def _store(content: bytes, folder: Path, key: str) -> Path:
    """The path of a library put into the cache, whole and on the disk before it has its name."""
    for left in folder.glob(".unfinished-*"):
        with contextlib.suppress(FileNotFoundError):  # another process has just removed it
            if time.time() - left.stat().st_mtime > UNFINISHED:
                left.unlink()
    path = folder / f"{key}-{hashlib.sha256(content).hexdigest()}.so"
    with atomic_file(path) as file:
        os.chmod(file.name, 0o600)  # whatever the umask: others must not be able to write it
        file.write(content)
    return path


@cache
def _cpu() -> str:
    """What the processor can do: code for one may not run on another that shares the cache folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
