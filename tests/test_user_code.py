"""Functions a user names, and what is said of their mistakes."""

from __future__ import annotations

import importlib
import math
import sys

import pytest

from symscope import InputError
from symscope.groups import parse
from symscope.user_code import (
    _user_frames,
    bind_seed,
    load_user_function,
    load_user_module,
    module_source,
    user_error,
    user_errors,
    user_files,
)


def test_functions_by_file_and_by_module(tmp_path, monkeypatch):
    (tmp_path / "own_code_of_a_user.py").write_text("def minus(a, b):\n    return a - b\n")
    assert load_user_function("--model", f"{tmp_path / 'own_code_of_a_user.py'}:minus")(5, 3) == 2
    monkeypatch.chdir(tmp_path)
    assert load_user_function("--model", "own_code_of_a_user:minus")(3, 5) == -2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import math\nvalue = 1 / 0\n", r"importing it raised ZeroDivisionError: .* \(broken.py, line 2\)"),
        ("\n\nraise SystemExit(7)\n", r"importing it raised SystemExit: 7 \(broken.py, line 3\)"),
        (
            "import math\nimport no_such_module_here\n",
            r"importing it raised ModuleNotFoundError: .*'no_such_module_here' \(broken.py, line 2\)",
        ),
        ("import math\nfrom math import pie\n", r"raised ImportError: .*'pie'.* \(broken.py, line 2\)"),
        ("import json\n\njson.loads('{')\n", r"raised JSONDecodeError: .* \(broken.py, line 3\)"),
        ("import torch\ntorch.zeros(2) @ torch.zeros(3)\n", r"raised RuntimeError: .* \(broken.py, line 2\)"),
        ("a = 1\nb = = 2\n", r"raised SyntaxError: invalid syntax \(broken.py, line 2\)"),
        ("build = 3\n", "has no function 'build'"),
    ],
)
def test_mistakes_in_a_user_s_file(tmp_path, content, said):
    (tmp_path / "broken.py").write_text(content)
    with pytest.raises(InputError, match=said):
        load_user_function("--model", f"{tmp_path / 'broken.py'}:build")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nets", "--model nets: expected MODULE:FUNCTION"),
        ("nets.py", "write nets.py:FUNCTION"),
        ("no_such_module:build", "No module named"),
        ("nowhere.py:build", "there is no file nowhere.py"),
    ],
)
def test_names_that_lead_nowhere(name, said):
    with pytest.raises(InputError, match=said):
        load_user_function("--model", name)


def test_a_user_s_folder_may_be_called_symscope(tmp_path):
    folder = tmp_path / "symscope"
    folder.mkdir()
    (folder / "mine.py").write_text("def build():\n    raise ValueError('odd size')\n")
    with pytest.raises(ValueError, match="odd") as caught:
        load_user_function("--model", f"{folder / 'mine.py'}:build")()
    assert str(user_error("it", caught.value)) == "it raised ValueError: odd size (mine.py, line 2)"


def test_a_file_imports_the_files_beside_it_at_once_and_later(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "nets"
    folder.mkdir()
    (folder / "helper_of_a_user.py").write_text("def body():\n    return 3\n")
    (folder / "later_of_a_user.py").write_text("more = 4\n")
    (folder / "math.py").write_text(
        "from helper_of_a_user import body\n\n\ndef build():\n"
        "    from later_of_a_user import more\n    return body() + more\n"
    )
    assert load_user_function("--model", f"{folder / 'math.py'}:build")() == 7
    assert sys.path[-1] == str(folder)
    assert sys.modules["math"] is math


def test_a_file_may_hold_dataclasses_with_annotations_as_text(tmp_path):
    (tmp_path / "net.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n\n"
        "@dataclass\nclass Sizes:\n    width: int = 5\n"
    )
    assert load_user_function("--model", f"{tmp_path / 'net.py'}:Sizes")().width == 5


def test_a_file_that_fails_leaves_no_module_behind(tmp_path):
    (tmp_path / "half_a_net.py").write_text("raise ValueError('odd')\n")
    with pytest.raises(InputError, match="odd"):
        load_user_function("--model", f"{tmp_path / 'half_a_net.py'}:build")
    assert not [name for name in sys.modules if name.startswith("half_a_net")]


def test_errors_are_the_user_s_where_they_pass_through_code_of_the_user(tmp_path):
    (tmp_path / "net.py").write_text("import json\n\n\ndef build():\n    return json.loads('{')\n")
    with pytest.raises(ValueError, match="property name") as caught:
        load_user_function("--model", f"{tmp_path / 'net.py'}:build")()
    assert _user_frames(caught.value)
    with pytest.raises(ValueError, match="property name") as caught:
        exec(compile("import json\njson.loads('{')", "<string>", "exec"))
    below = caught.value.__traceback__.tb_next  # this test is a file of its own, too
    assert not _user_frames(caught.value.with_traceback(below))


def test_errors_of_the_library_are_not_the_user_s():
    with pytest.raises(InputError) as caught:
        parse("no such group")
    below = caught.value.__traceback__.tb_next  # this test is a file of its own, too
    frames = _user_frames(caught.value.with_traceback(below))
    own_checks = "shapes.py"  # of the suite
    assert not [frame for frame in frames if not frame.filename.endswith(own_checks)]


def test_a_file_is_loaded_once(tmp_path):
    (tmp_path / "counted.py").write_text("class Net: ...\n")
    name = str(tmp_path / "counted.py")
    assert load_user_module("--module", name) is load_user_module("--module", name)
    assert load_user_function("--model", f"{name}:Net") is load_user_module("--module", name).Net


def test_a_seed_is_given_by_name_or_as_the_only_argument():
    def later(width=3, *, seed=0):
        return width, seed

    def only(seed, /):
        return seed

    def any_number(*seed):
        return seed

    assert [bind_seed("m", one, 5)() for one in (later, only, any_number)] == [(3, 5), 5, ()]
    with pytest.raises(InputError, match="m: expected a function of nothing, or of a seed; it needs width"):
        bind_seed("m", lambda width, seed: 0, 5)


@pytest.mark.parametrize("kind", [BaseException, GeneratorExit, SystemExit, StopIteration])
@pytest.mark.parametrize("mixed", [False, True])
def test_whatever_a_user_s_code_raises_is_one_line(kind, mixed, tmp_path):
    (tmp_path / "raising.py").write_text("def fail(error):\n    raise error\n")
    fail = load_user_function("--model", f"{tmp_path / 'raising.py'}:fail")
    said = rf"^it raised {kind.__name__}: odd \(raising.py, line 2\)$"
    with pytest.raises(InputError, match=said), user_errors("it", mixed):
        fail(kind("odd"))


def test_input_errors_and_interrupts_stay_as_they_are():
    with pytest.raises(KeyboardInterrupt), user_errors("it"):
        raise KeyboardInterrupt
    with pytest.raises(InputError, match=r"^C0$"), user_errors("it"):
        raise InputError("C0")


def test_files_and_sources_are_known_for_other_processes(tmp_path):
    file = tmp_path / "of_another_user.py"
    file.write_text("value = 3\n")
    module = load_user_module("--model", str(file))
    assert str(file.resolve()) in user_files()
    assert all(name.endswith(".py") for name in user_files())
    file.write_text("value = 4\n")
    assert load_user_module("--model", str(file)) is module
    assert module_source(module) in ("value = 3\n", "value = 4\n")
    first = module_source(module)
    file.write_text("value = 5\n")
    assert module_source(module) == first  # of the module as it is in this process
    assert module_source(sys) is None


def test_packages_of_other_environments_are_not_the_user_s(tmp_path, monkeypatch):
    folder = tmp_path / "base" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "package_of_another_environment.py").write_text("def run():\n    raise ValueError('odd')\n")
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ValueError, match="odd") as caught:
        importlib.import_module("package_of_another_environment").run()
    below = caught.value.with_traceback(caught.value.__traceback__.tb_next)  # this test is a file of its own
    assert not _user_frames(below)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(folder)])
    assert [frame.name for frame in _user_frames(below)] == ["run"]
