"""Lock files: every package that `make` installs, pinned, with the SHA-256 of each of its files.

`make lock` writes them from `pyproject.toml` and keeps the versions they have; `make lock UPGRADE=--upgrade`
takes the newest. One file for each step of the Makefile, none repeats what an earlier one has for a platform:

torch-cpu.lock PyTorch from its own index: the build without CUDA, for Linux on x86-64
torch.lock     PyTorch from PyPI: on Linux with CUDA's packages, several gigabytes
run.lock       what symscope needs to run, and hatchling, which builds it
dev.lock       tests and checks
docs.lock      the documentation
release.lock   building, checking and locking

They serve Python 3.11 and newer on Linux, macOS and Windows: uv resolves for all of them at once.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

ROOT = Path(__file__).parents[1]
STEPS = {"run": (), "dev": ("dev",), "docs": ("docs",), "release": ("release",)}  # extras of pyproject.toml
BUILD = "hatchling>=1.27\neditables\n"  # what an editable install without a network needs
TORCH = re.compile(r"torch|triton|(nvidia|cuda)-.*")
# PyTorch's CPU wheels for Linux x86-64, Python 3.11, 3.12, 3.13, by version: PyPI does not list them, their
# digests stand at https://download.pytorch.org/whl/cpu/torch/
CPU_BUILDS = {
    "2.13.0": (
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
        "4ca4a9394b0c771238a4f73590fdbbc4debad85ed0fa63d026ae1b085da7d6e2",
        "3fbf9c9d1f3c10c2d59d04aca426dee9ccc6ceb32d255c61e93acc3b4f75fae6",
    )
}


@final
@dataclass(frozen=True)
class LockedPackage:
    """One package of a lock file.

    Attributes:
        name: Name on the package index.
        version: The one version allowed.
        marker: Platforms it is for, as a PEP 508 marker; empty for all.
        digests: SHA-256 of every file allowed, hexadecimal.
    """

    name: str
    version: str
    marker: str
    digests: tuple[str, ...]

    def __str__(self) -> str:
        """The entry as pip reads it."""
        first = f"{self.name}=={self.version}" + (f" ; {self.marker}" if self.marker else "")
        return " \\\n".join([first, *(f"    --hash=sha256:{digest}" for digest in self.digests)]) + "\n"


def lock_file(step: str) -> Path:
    """The path of a step's lock file."""
    return ROOT / "release" / f"{step}.lock"


def parse_lock(text: str) -> list[LockedPackage]:
    r"""The packages of a lock file.

    Raises:
        ValueError: A line that is neither a pinned package nor a digest.

    >>> [one] = parse_lock("a-b==1.0 ; sys_platform == 'linux' \\\n    --hash=sha256:" + "0" * 64)
    >>> one.name, one.version, one.marker, len(one.digests)
    ('a-b', '1.0', "sys_platform == 'linux'", 1)
    """
    lines = (line for line in text.replace("\\\n", " ").splitlines() if not line.startswith("#"))
    return [_parsed(line) for line in lines if line.strip()]


def _parsed(line: str) -> LockedPackage:
    entry = re.fullmatch(r"([\w.-]+)==([\w.+!]+)(?: *; *(.*?))?((?: +--hash=sha256:[0-9a-f]{64})+) *", line)
    if entry is None:
        raise ValueError(f"expected NAME==VERSION with --hash=sha256:... of its files, got {line!r}")
    name, version, marker, digests = entry.groups()
    return LockedPackage(name, version, marker or "", tuple(re.findall(r"[0-9a-f]{64}", digests)))


def locked(*steps: str) -> list[LockedPackage]:
    """The packages of some steps, in the order of the files."""
    return [package for step in steps for package in parse_lock(lock_file(step).read_text(encoding="utf-8"))]


def _resolved(extras: tuple[str, ...], known: str, options: list[str]) -> list[LockedPackage]:
    """What uv finds for some extras; versions in `known` are kept."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "all.txt")
        out.write_text(known, encoding="utf-8")
        subprocess.run(
            ["uv", "pip", "compile", "pyproject.toml", "-", "--output-file", str(out), "--quiet"]
            + ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--no-header"]
            + [f"--extra={extra}" for extra in extras]
            + options,
            cwd=ROOT,
            input=BUILD,
            text=True,
            check=True,
        )
        return parse_lock(out.read_text(encoding="utf-8"))


def main(options: list[str]) -> None:
    """Write all lock files; `options` go to uv."""
    known = "".join(map(str, locked("torch", *STEPS)))
    everything = tuple(extra for extras in STEPS.values() for extra in extras)
    known = "".join(map(str, _resolved(everything, known, options)))
    seen: set[tuple[str, str]] = set()
    for step, extras in STEPS.items():
        # a package of some platforms alone may be needed on all of them later
        new = [
            one for one in _resolved(extras, known, []) if not {(one.name, ""), (one.name, one.marker)} & seen
        ]
        seen.update((one.name, one.marker) for one in new)
        if step == "run":
            _write("torch-cpu", [_cpu_build(one) for one in new if one.name == "torch"])
            _write("torch", [one for one in new if TORCH.fullmatch(one.name)])
            new = [one for one in new if not TORCH.fullmatch(one.name)]
        _write(step, new)


def _cpu_build(torch: LockedPackage) -> LockedPackage:
    if torch.version not in CPU_BUILDS:
        sys.exit(f"torch {torch.version}: add the digests of its CPU builds to {__file__}")
    return replace(torch, version=f"{torch.version}+cpu", digests=CPU_BUILDS[torch.version])


def _write(step: str, packages: list[LockedPackage]) -> None:
    head = "# Written by `make lock` from pyproject.toml; see release/lock.py.\n"
    lock_file(step).write_text(head + "".join(map(str, packages)), encoding="utf-8")
    print(f"{lock_file(step).relative_to(ROOT)}: {len(packages)} packages")


if __name__ == "__main__":
    main(sys.argv[1:])
