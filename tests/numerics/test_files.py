"""A file is whole or not there: on full disks, in closed folders, over what was there before."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from symscope import InputError
from symscope.numerics import atomic_file, exclusive_lock, remove_unfinished, write_whole
from symscope.report import new_figure, save_figure, write_page

LARGE = "x" * 10_000


def test_text_and_bytes_arrive_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "page.html"
    write_whole("zuerst é ∆", path)
    assert path.read_bytes() == "zuerst é ∆".encode()
    write_whole(b"\x00\xff", path)
    assert path.read_bytes() == b"\x00\xff"
    assert os.listdir(tmp_path) == ["page.html"]


def test_others_may_read_it_as_far_as_the_user_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole("x", tmp_path / "page.html")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


@pytest.mark.parametrize("writer", [write_whole, write_page, lambda text, path: save_figure(picture(), path)])
def test_a_disk_that_fills_up_keeps_what_was_there(tmp_path, monkeypatch, writer):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python keeps half a file of it, and fails later
    path = tmp_path / "page.png"
    path.write_text("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(InputError, match=r"cannot write .*page.png: File too large; .*has space"):
            writer(LARGE, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["page.png"]


def test_the_program_on_a_disk_that_fills_up(tmp_path):
    """The real command in a process of its own: one line, status 2, nothing half-written."""
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from symscope.cli import main; main(['data', 'show', '--group', 'C4', '--out', 'page.html'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "MPLCONFIGDIR": str(tmp_path.parent / "matplotlib"),
            "PYTHONDONTWRITEBYTECODE": "1",  # Python keeps half a file of it, and fails later
        },
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("symscope: cannot write page.html: File too large; choose a folder that exists")
    assert "Traceback" not in ended.stderr
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file or directory; choose a folder that exists"):
        write_whole("x", tmp_path / "nowhere" / "page.html")
    with pytest.raises(InputError, match="Is a directory"):
        write_whole("x", tmp_path)
    with pytest.raises(InputError, match="cannot write"):
        write_whole("x", Path("/proc/self/page.html"))  # closed to everyone, the administrator too
    assert os.listdir(tmp_path) == []
    assert not list(tmp_path.parent.glob(".unfinished-*"))


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "real.html").write_text("before")
    (tmp_path / "link.html").symlink_to("real.html")
    write_whole("after", tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == "after"


def test_devices_are_written_to_and_stay_devices():
    write_whole(LARGE, Path("/dev/null"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(InputError, match="/dev/full: No space left on device"):
        write_whole(LARGE, Path("/dev/full"))
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_block_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / ("n" * 255)  # as long as names may be
    write_whole("before", path)
    with pytest.raises(TypeError), atomic_file(path) as file:
        file.write("text is no bytes")
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["state.pt", "with ' and *?[x]", "é∆"])
def test_what_killed_writers_left_is_removed_for_that_file_alone(tmp_path, name):
    for path in (tmp_path / name, tmp_path / "other"):
        pid = os.fork()
        if not pid:
            with atomic_file(path) as file:
                file.write(b"half")
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
    assert len(os.listdir(tmp_path)) == 2
    remove_unfinished(tmp_path / name)
    assert len(os.listdir(tmp_path)) == 1
    remove_unfinished(tmp_path / "other")
    assert os.listdir(tmp_path) == []


def test_a_lock_keeps_others_out_until_its_holder_ends(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b"old ")
    script = (
        f"import fcntl; file = open({str(path)!r}, 'a+b'); fcntl.flock(file, fcntl.LOCK_EX);"
        "print('held', flush=True); input()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="in use; wait"), exclusive_lock(path, "in use; wait"):
            pass
        holder.kill()
    with exclusive_lock(path, "in use") as file:
        file.write(b"new")
    assert path.read_bytes() == b"old new"
    with pytest.raises(OSError, match="No such file"), exclusive_lock(tmp_path / "no" / "lock", "in use"):
        pass


def picture():
    figure = new_figure(4, 3)
    figure.subplots().plot([0, 1, 3], [2, 1, 5])
    return figure
