from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import weakref

import pytest

from symscope.cli._program import CtrlC, importing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals to processes")


def in_import(tmp_path, code):
    """Run a module's code, as an import does."""
    (tmp_path / "imported_here.py").write_text(textwrap.dedent(code))
    sys.path.insert(0, str(tmp_path))
    try:
        import imported_here

        return imported_here
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("imported_here", None)


def imported_and_waited(tmp_path, code):
    in_import(tmp_path, code)
    time.sleep(30)


@pytest.fixture
def handler():
    before = signal.signal(signal.SIGINT, CtrlC())
    yield
    signal.signal(signal.SIGINT, before)


def test_an_import_is_seen_from_inside_and_not_from_outside(tmp_path):
    code = "import sys\nfrom symscope.cli._program import importing\nresult = importing(sys._getframe())"
    assert in_import(tmp_path, code).result
    assert not importing(sys._getframe())


def test_ctrl_c_outside_an_import_stops_at_once(handler):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_where_python_drops_exceptions_comes_again(handler, monkeypatch, capfd):
    """A weak reference's callback: what is raised in it is printed and forgotten by Python."""
    monkeypatch.setattr(sys, "unraisablehook", CtrlC().unraisable)

    class Thing:
        pass

    things = [Thing()]
    kept = weakref.ref(things[0], lambda gone: signal.raise_signal(signal.SIGINT))
    things.clear()
    with pytest.raises(KeyboardInterrupt):
        time.sleep(30)
    assert kept() is None
    assert capfd.readouterr().err == ""


def test_ctrl_c_in_an_import_waits_for_its_end(handler, tmp_path):
    code = """
        import signal, time
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)
        import sys
        sys.finished_importing = True
    """
    with pytest.raises(KeyboardInterrupt):
        imported_and_waited(tmp_path, code)
    assert sys.__dict__.pop("finished_importing")


def test_ctrl_c_several_times_in_an_import_comes_once(handler, tmp_path):
    """One that came after KeyboardInterrupt would end the program before its last line is written."""
    code = "import signal\nfor _ in range(20): signal.raise_signal(signal.SIGINT)"
    with pytest.raises(KeyboardInterrupt):
        imported_and_waited(tmp_path, code)
    time.sleep(0.3)  # another one would be raised here


def test_an_import_without_an_end_is_stopped(handler, tmp_path, monkeypatch):
    monkeypatch.setattr("symscope.cli._program.LONGEST_IMPORT", 0.1)
    with pytest.raises(KeyboardInterrupt):
        in_import(tmp_path, "import signal\nsignal.raise_signal(signal.SIGINT)\nwhile True: pass")


START = """
import builtins, os, signal, sys
real, name = builtins.__import__, sys.argv.pop(1)
def watched(module, *rest, **named):
    if module == name:
        os.kill(os.getpid(), signal.SIGINT)
    return real(module, *rest, **named)
from symscope.cli import program
builtins.__import__ = watched
program()
"""


@pytest.mark.parametrize("module", ["symscope.cli._app", "typer", "symscope.errors", "symscope.data"])
def test_ctrl_c_at_any_import_of_the_program_gives_no_traceback(module, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", START, module, "data", "show", "--group", "C4", "--out", "orbits.png"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
    )
    assert done.returncode in (130, -signal.SIGINT)  # from Python 3.12 on an early one is the signal itself
    assert done.stdout == ""
    assert done.stderr in ("", "symscope: stopped.\n")
    assert not os.listdir(tmp_path)


def test_ctrl_c_while_python_ends_prints_nothing():
    program = (
        "import atexit, signal, sys\nfrom symscope.cli import program\n"
        "sys.argv = ['symscope', '--version']\natexit.register(signal.raise_signal, signal.SIGINT)\nprogram()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == ""


def test_nothing_heavy_is_imported_before_ctrl_c_is_taken():
    program = "import sys\nimport symscope.cli\nprint('typer' in sys.modules or 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.stdout == "False\n"


def test_nothing_that_takes_time_is_imported_before_ctrl_c_works():
    code = (
        "import sys; before = set(sys.modules); import symscope.cli; "
        "print(sorted({'typing', 'enum', 're', 'signal', 'threading'} & set(sys.modules) - before))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_a_pipe_that_nobody_reads_has_a_status_of_its_own():
    words = [sys.executable, "-m", "symscope.cli", "--help"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
