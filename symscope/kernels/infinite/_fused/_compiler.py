"""C source to functions of this process, by the machine's own C compiler; kept in the user's cache folder."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

from symscope.numerics import atomic_file

# -ffast-math is left out on purpose: it would change how the whole process rounds tiny numbers.
FLAGS = (
    *("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC", "-w"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"),
)


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
    """Where compiled code is kept: `$SYMSCOPE_CACHE`, or `symscope` in the user's cache folder."""
    given = os.environ.get("SYMSCOPE_CACHE")
    return (
        Path(given)
        if given
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "symscope"
    )


@cache
def library(source: str) -> ctypes.CDLL | None:
    """The functions of a C source, compiled now or found in the cache; None if that is not possible here.

    A compiler that fails is reported once, as a warning with its message: the plain propagation then does the
    work.
    """
    command = compiler()
    if command is None:
        return None
    key = hashlib.sha256(
        "\0".join([source, command, *FLAGS, platform.processor(), _cpu()]).encode()
    ).hexdigest()
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{key}.so"
        if not path.exists():
            _compile(command, source, path)
        return ctypes.CDLL(str(path))
    except (OSError, subprocess.SubprocessError) as error:
        detail = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
        warnings.warn(
            f"kernels run without compiled code, more slowly: {detail}", RuntimeWarning, stacklevel=2
        )
        return None


def _compile(command: str, source: str, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        text, made = Path(folder) / "chain.c", Path(folder) / "chain.so"
        text.write_text(source, encoding="utf-8")
        words = [command, *FLAGS, str(text), "-o", str(made), "-lm"]
        subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)
        with atomic_file(path) as file:
            file.write(made.read_bytes())


@cache
def _cpu() -> str:
    """What the processor can do: code for one may not run on another that shares the cache folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
