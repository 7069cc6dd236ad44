"""Where a run took place."""

from __future__ import annotations

import subprocess

import pytest
import torch

from symscope import InputError
from symscope.runs._environment import chosen_device, environment, revision, usable_cores


def test_versions_and_machine_are_written_down():
    result = environment("cpu")
    assert torch.__version__.startswith(result["packages"]["torch"])  # builds add +cpu or +cu130
    assert result["cores"] == usable_cores() >= 1
    assert result["processor"]


def test_revision_knows_commits_changes_and_their_absence(tmp_path):
    assert revision(tmp_path) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "file").write_text("one")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert revision(tmp_path) == commit
    (tmp_path / "file").write_text("two")
    assert revision(tmp_path) == commit + "+changes"
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "__init__.py").touch()
    assert revision(tmp_path / ".venv") is None  # lies in the repository, is not of it


def test_devices():
    assert chosen_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(InputError, match="auto, cpu or cuda, got 'gpu'"):
        chosen_device("gpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no CUDA device"):
        chosen_device("cuda")
