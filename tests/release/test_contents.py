from __future__ import annotations

import io
import shutil
import tarfile
import zipfile

import pytest

from release.contents import BESIDE, main, source_files
from release.lock import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="needs a clone"
)


def built(folder, wheel, sdist):
    """A wheel and a source distribution that hold empty files of these names."""
    with zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w") as archive:
        for name in [*wheel, "a-1.dist-info/METADATA"]:
            archive.writestr(name, b"")
    with tarfile.open(folder / "a-1.tar.gz", "w:gz") as archive:
        for name in sdist:
            archive.addfile(tarfile.TarInfo(f"a-1/{name}"), io.BytesIO())


def test_what_must_be_there_is_under_version_control():
    files = source_files()
    assert {f"{one}/py.typed" for one in ("symscope", "symscope_papers")} < files
    assert {"symscope/report/page.html.jinja", "symscope/data/bundled/mnist_sample.npz"} < files


def test_packages_with_all_files_and_no_others_pass(tmp_path, capsys):
    built(tmp_path, source_files(), source_files() | BESIDE)
    assert main(tmp_path) == 0
    assert "no others" in capsys.readouterr().out


def test_files_too_many_and_too_few_are_named(tmp_path, capsys):
    files = source_files()
    built(tmp_path, files - {"symscope/py.typed"}, files | BESIDE | {"tests/test_x.py"})
    assert main(tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "a-1-py3-none-any.whl: missing: symscope/py.typed",
        "a-1.tar.gz: not expected: tests/test_x.py",
    ]
