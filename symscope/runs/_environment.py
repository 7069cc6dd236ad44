"""Where a run took place: versions, machine, revision of the code, and which device it uses."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from symscope._version import __version__
from symscope.errors import InputError

PACKAGES = ("torch", "numpy", "scipy", "pandas", "pyarrow", "matplotlib")


def environment(device: str) -> dict[str, Any]:
    """Versions and machine, as plain data.

    Args:
        device: "cpu" or "cuda", as `chosen_device` gives it.

    >>> environment("cpu")["symscope"] == __version__
    True
    """
    import torch

    return {
        "symscope": __version__,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "system": platform.platform(),
        "processor": _processor(),
        "cores": usable_cores(),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "revision": revision(Path(__file__).parent),
    }


def machine_in_words(machine: Mapping[str, Any]) -> str:
    """What `environment` says of versions and machine, on one line.

    >>> machine = {"processor": "Z80", "cores": 1, "device": "cpu", "python": "3.12.3"}
    >>> machine_in_words({**machine, "packages": {"torch": "2.11.0"}})
    'Z80, 1 cores, cpu; Python 3.12.3, torch 2.11.0'
    """
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    where = f"{machine['processor']}, {machine.get('cores', '?')} cores, {machine['device']}"
    return f"{where}; Python {machine['python']}, {packages}"


def chosen_device(wanted: str) -> str:
    """The device a run uses: `auto` takes a GPU when there is one.

    Args:
        wanted: "auto", "cpu" or "cuda".

    Raises:
        InputError: Another word, or "cuda" on a machine without one.

    >>> chosen_device("cpu")
    'cpu'
    """
    if wanted not in ("auto", "cpu", "cuda"):
        raise InputError(f"--device is auto, cpu or cuda, got {wanted!r}")
    if wanted == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if wanted == "cuda":
        raise InputError("--device cuda: torch sees no CUDA device on this machine; use --device cpu or auto")
    return "cpu"


def revision(folder: Path) -> str | None:
    """The git revision of a folder, with `+changes` when files differ from it; None without git.

    A folder that only lies inside a repository, such as an environment in a user's project, has none.
    """
    try:
        if not _git(folder, "ls-files"):
            return None
        commit = _git(folder, "rev-parse", "HEAD")
        changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+changes" if changes else "")


def usable_cores() -> int:
    """Cores this process may use, which can be fewer than the machine has.

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
