"""Experiments are found by looking: in symscope, in installed packages, in a user's file."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from symscope import InputError
from symscope.runs import experiments
from symscope.runs._registry import absolute_modules, broken_modules, experiment_ids, find_experiment
from symscope.user_code import load_user_module
from tests.cli.test_app import called
from tests.runs.program import TOY

SHIPPED = {"spectral/circles-distance", "spectral/circles-density", "spectral/missing"}


def test_shipped_experiments_are_there_in_order():
    assert set(experiments()) >= SHIPPED
    assert list(experiments()) == sorted(experiments())


def test_a_users_file_adds_its_own():
    assert "toy/matrices" not in experiments()
    assert set(experiments([TOY])) == {*experiments(), "toy/matrices"}
    assert load_user_module("--module", TOY) is load_user_module("--module", TOY)


def test_an_installed_package_adds_its_own(tmp_path, monkeypatch):
    (tmp_path / "visiting.py").write_text(Path(TOY).read_text().replace("toy/matrices", "visiting/matrices"))
    info = tmp_path / "visiting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: visiting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[symscope.experiments]\nvisiting = visiting\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert find_experiment("visiting/matrices").shows == "Random matrices have norms."
        (tmp_path / "visiting.py").write_text("import nothing_of_that_name")
        del sys.modules["visiting"]
        assert set(experiments()) >= SHIPPED
        [one] = broken_modules()
        assert one.message == (
            "visiting cannot be imported: it needs the package nothing_of_that_name, which is not installed"
        )
    finally:
        sys.modules.pop("visiting", None)


@pytest.fixture
def visitors(tmp_path, monkeypatch):
    """A folder whose modules count as shipped: a broken file, a broken package, one that lacks a package."""
    source = Path(TOY).read_text()
    (tmp_path / "wrecked.py").write_text(source.replace("toy/matrices", "toy/wrecked") + "\n1 / 0\n")
    (tmp_path / "unparsed.py").write_text(source.replace("toy/matrices", "toy/unparsed") + "\ndef (:\n")
    (tmp_path / "leaving.py").write_text('ID = "toy/leaving"\nraise SystemExit("no GPU here")\n')
    (tmp_path / "needy.py").write_text("ID = 'toy/needy'\nimport gpytorch.kernels\n")
    (tmp_path / "mistyped.py").write_text("import symscope.spectrum\n")
    broken_package = tmp_path / "broken_package"
    broken_package.mkdir()
    (broken_package / "__init__.py").write_text("raise RuntimeError('first line\\nsecond line')\n")
    (broken_package / "inner.py").write_text(source.replace("toy/matrices", "toy/inner"))
    (tmp_path / "stopped").mkdir()
    (tmp_path / "stopped" / "__init__.py").write_text("raise GeneratorExit\n")
    monkeypatch.setitem(sys.modules, "gpytorch", None)  # as if it were not installed
    package = importlib.import_module("symscope_papers")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    return tmp_path


def test_a_broken_module_takes_away_only_its_own_experiments(visitors):
    assert set(experiments()) >= SHIPPED
    assert find_experiment("spectral/missing").id == "spectral/missing"
    reasons = {one.module.removeprefix("symscope_papers."): one.reason for one in broken_modules()}
    assert set(reasons) == {
        "wrecked",
        "unparsed",
        "leaving",
        "needy",
        "mistyped",
        "broken_package",
        "stopped",
    }
    assert reasons["stopped"] == "GeneratorExit: no message"
    assert reasons["wrecked"] == "ZeroDivisionError: division by zero"
    assert reasons["unparsed"].startswith("SyntaxError: ")
    assert reasons["leaving"] == "SystemExit: no GPU here"
    assert reasons["needy"] == (
        "it needs the package gpytorch, which is not installed: `pip install 'symscope[gpytorch]'`"
    )
    assert reasons["mistyped"] == "ModuleNotFoundError: No module named 'symscope.spectrum'"
    assert reasons["broken_package"] == "RuntimeError: first line"


@pytest.mark.parametrize(
    ("name", "module", "error"),
    [
        ("toy/wrecked", "wrecked", "ZeroDivisionError"),
        ("toy/unparsed", "unparsed", "SyntaxError"),
        ("toy/needy", "needy", "needs the package gpytorch"),
        ("toy/inner", "broken_package", "RuntimeError"),
    ],
)
def test_asking_for_a_broken_experiment_tells_its_error(visitors, name, module, error):
    message = rf"^experiment '{name}' cannot be run: symscope_papers.{module} cannot be imported: .*{error}"
    with pytest.raises(InputError, match=message):
        find_experiment(name)


def test_an_unknown_name_beside_broken_modules_tells_of_them_too(visitors):
    with pytest.raises(
        InputError, match=r"no experiment is called 'zzz'.*may be missing: .*ZeroDivisionError"
    ):
        find_experiment("zzz")


def test_the_program_goes_on_beside_a_broken_module(tmp_path, monkeypatch, capsys):
    """The program, with a module that cannot be imported among the shipped ones."""
    (tmp_path / "wrecked.py").write_text('ID = "toy/wrecked"\n1 / 0\n')
    package = importlib.import_module("symscope_papers")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    line = "symscope_papers.wrecked cannot be imported: ZeroDivisionError: division by zero"
    assert called("list", "experiments") == 0
    listed = capsys.readouterr()
    assert "spectral/circles-distance" in listed.out
    assert listed.err == f"symscope: left out: {line}\n"
    assert called("reproduce", "toy/wrecked") == 2
    assert capsys.readouterr().err == f"symscope: experiment 'toy/wrecked' cannot be run: {line}\n"
    words = ("toy/matrices", "--module", TOY, "--workers", "0", "--out", str(tmp_path / "runs"))
    assert called("reproduce", *words) == 0
    ran = capsys.readouterr()
    assert "Report: " in ran.out
    assert "wrecked" not in ran.err


def test_a_family_stands_for_all_its_experiments(visitors):
    for family in ("spectral", "linear", "discovery", "dynamics", "forecast"):
        assert (
            experiment_ids(family) == [name for name in experiments() if name.startswith(f"{family}/")] != []
        )
    assert experiment_ids("spectral/missing") == ["spectral/missing"]
    assert experiment_ids("toy", [TOY]) == ["toy/matrices"]
    with pytest.raises(InputError, match=r"^no experiment is called 'spectrl': did you mean 'spectral'\?"):
        experiment_ids("spectrl")
    with pytest.raises(InputError, match=r"known: discovery, discovery/exact, .*spectral/missing"):
        experiment_ids("zzz")
    with pytest.raises(InputError, match=r"^experiment 'toy' cannot be run: .* cannot be imported: "):
        experiment_ids("toy")


def test_unknown_experiments_are_refused_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'spectral/circles-distance'"):
        find_experiment("spectral/circle-distance")
    with pytest.raises(InputError, match=r"known: .*spectral/missing"):
        find_experiment("zzz")


def test_modules_that_cannot_be_loaded_are_refused(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    for _ in range(2):  # a failed load leaves nothing behind
        with pytest.raises(InputError, match=r"--module .*broken.py: importing it raised ZeroDivisionError"):
            experiments([str(broken)])
    with pytest.raises(InputError, match="there is no file"):
        experiments([str(tmp_path / "absent.py")])
    with pytest.raises(InputError, match="No module named 'no_module_of_this_name'"):
        experiments(["no_module_of_this_name"])


def test_two_experiments_with_one_id_are_refused(tmp_path):
    again = tmp_path / "again.py"
    again.write_text(Path(TOY).read_text())
    with pytest.raises(InputError, match="two experiments are called 'toy/matrices'"):
        experiments([TOY, str(again)])


def test_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute_modules(["mine.py", "my.module"]) == (str(tmp_path / "mine.py"), "my.module")
