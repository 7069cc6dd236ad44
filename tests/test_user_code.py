"""Functions a user names, and what is said of their mistakes."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.user_code import named_function, user_error


def test_functions_by_file_and_by_module(tmp_path, monkeypatch):
    (tmp_path / "own_code_of_a_user.py").write_text("def minus(a, b):\n    return a - b\n")
    assert named_function("--model", f"{tmp_path / 'own_code_of_a_user.py'}:minus")(5, 3) == 2
    monkeypatch.chdir(tmp_path)
    assert named_function("--model", "own_code_of_a_user:minus")(3, 5) == -2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import math\nvalue = 1 / 0\n", r"importing it raised ZeroDivisionError: .* \(broken.py, line 2\)"),
        ("\n\nraise SystemExit(7)\n", r"importing it raised SystemExit: 7 \(broken.py, line 3\)"),
        ("import no_such_module_here\n", "No module named 'no_such_module_here'"),
        ("build = 3\n", "has no function 'build'"),
    ],
)
def test_mistakes_in_a_user_s_file(tmp_path, content, said):
    (tmp_path / "broken.py").write_text(content)
    with pytest.raises(InputError, match=said):
        named_function("--model", f"{tmp_path / 'broken.py'}:build")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nets", "--model nets: expected MODULE:FUNCTION"),
        ("no_such_module:build", "No module named"),
        ("nowhere.py:build", "there is no file nowhere.py"),
    ],
)
def test_names_that_lead_nowhere(name, said):
    with pytest.raises(InputError, match=said):
        named_function("--model", name)


def test_a_user_s_folder_may_be_called_symscope(tmp_path):
    folder = tmp_path / "symscope"
    folder.mkdir()
    (folder / "mine.py").write_text("def build():\n    raise ValueError('odd size')\n")
    with pytest.raises(ValueError, match="odd") as caught:
        named_function("--model", f"{folder / 'mine.py'}:build")()
    assert str(user_error("it", caught.value)) == "it raised ValueError: odd size (mine.py, line 2)"
