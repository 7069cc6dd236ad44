"""What the built packages hold: all that Git knows of both import packages, nothing else (`make release`)."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from release.lock import ROOT

PACKAGES = ("symscope", "symscope_papers")
BESIDE = {"README.md", "CHANGELOG.md", "LICENSE", "NOTICE", "pyproject.toml", "PKG-INFO", ".gitignore"}


def source_files() -> set[str]:
    """The files of both import packages that are under version control: code, `py.typed`, templates, data."""
    words = ["git", "ls-files", "-z", *PACKAGES]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return set(listed.split("\0")) - {""}


def wheel_files(path: Path) -> set[str]:
    """The files of a wheel, without its metadata."""
    with zipfile.ZipFile(path) as wheel:
        return {name for name in wheel.namelist() if ".dist-info/" not in name}


def sdist_files(path: Path) -> set[str]:
    """The files of a source distribution, without its outer folder."""
    with tarfile.open(path) as archive:
        return {one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()}


def differences(found: set[str], expected: set[str]) -> list[str]:
    """One line for each file too many or too few.

    >>> differences({"a", "tests/b"}, {"a", "c"})
    ['missing: c', 'not expected: tests/b']
    """
    missing, surplus = sorted(expected - found), sorted(found - expected)
    return [f"missing: {name}" for name in missing] + [f"not expected: {name}" for name in surplus]


def main(folder: Path) -> int:
    """Check the one wheel and the one source distribution of a folder; the exit status."""
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    expected = source_files()
    lines = [f"{wheel.name}: {line}" for line in differences(wheel_files(wheel), expected)]
    lines += [f"{sdist.name}: {line}" for line in differences(sdist_files(sdist), expected | BESIDE)]
    print(
        "\n".join(lines) or f"{wheel.name}, {sdist.name}: {len(expected)} files of both packages, no others"
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
