"""Experiments are found by looking: in symscope, in installed packages, in a user's file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from symscope import InputError
from symscope.experiments import experiments, find
from symscope.experiments.registry import load_module, resolved
from tests.experiments.program import TOY

SHIPPED = {"spectral/circles-distance", "spectral/circles-density", "spectral/missing"}


def test_shipped_experiments_are_there_in_order():
    assert set(experiments()) >= SHIPPED
    assert list(experiments()) == sorted(experiments())


def test_a_users_file_adds_its_own():
    assert "toy/matrices" not in experiments()
    assert set(experiments([TOY])) == {*experiments(), "toy/matrices"}
    assert load_module(TOY) is load_module(TOY)


def test_an_installed_package_adds_its_own(tmp_path, monkeypatch):
    (tmp_path / "visiting.py").write_text(Path(TOY).read_text().replace("toy/matrices", "visiting/matrices"))
    info = tmp_path / "visiting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: visiting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[symscope.experiments]\nvisiting = visiting\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert find("visiting/matrices").shows == "Random matrices have norms."
        (tmp_path / "visiting.py").write_text("import nothing_of_that_name")
        del sys.modules["visiting"]
        with pytest.raises(
            InputError, match=r"installed experiments 'visiting'.*cannot be loaded: ModuleNotFound"
        ):
            experiments()
    finally:
        sys.modules.pop("visiting", None)


def test_unknown_experiments_are_refused_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'spectral/circles-distance'"):
        find("spectral/circle-distance")
    with pytest.raises(InputError, match=r"known: .*spectral/missing"):
        find("zzz")


def test_modules_that_cannot_be_loaded_are_refused(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    for _ in range(2):  # a failed load leaves nothing behind
        with pytest.raises(InputError, match=r"broken.py cannot be loaded: ZeroDivisionError"):
            load_module(str(broken))
    with pytest.raises(InputError, match="no such file"):
        load_module(str(tmp_path / "absent.py"))
    with pytest.raises(InputError, match="cannot be loaded: ModuleNotFoundError"):
        load_module("no_module_of_this_name")


def test_two_experiments_with_one_id_are_refused(tmp_path):
    again = tmp_path / "again.py"
    again.write_text(Path(TOY).read_text())
    with pytest.raises(InputError, match="two experiments are called 'toy/matrices'"):
        experiments([TOY, str(again)])


def test_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolved(["mine.py", "my.module"]) == (str(tmp_path / "mine.py"), "my.module")
