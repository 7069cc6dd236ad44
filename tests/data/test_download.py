from __future__ import annotations

import gzip
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from symscope.data._download import RemoteFile, check_mirrors, download, holds_content, locked
from symscope.errors import InputError
from tests.data.local_mirror import Mirror, serving

CONTENT = np.random.default_rng(3).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
BODY = gzip.compress(CONTENT)
FILE = RemoteFile("noise.gz", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
OTHER = gzip.compress(CONTENT[::-1])


@pytest.fixture(autouse=True)
def _straight_to_the_server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def closed():
    """An address on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/mnist/"


def assert_finished(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["noise.gz"]
    assert (folder / "noise.gz").read_bytes() == BODY


def test_fetches_checks_and_reports_progress(tmp_path):
    seen = []
    with serving(Mirror({"noise.gz": BODY})) as mirror:
        path = download(
            FILE, tmp_path / "new" / "folder", [mirror.url], progress=lambda *told: seen.append(told)
        )
    assert path == tmp_path / "new" / "folder" / "noise.gz"
    assert_finished(path.parent)
    done = [told[1] for told in seen]
    assert done == sorted(set(done))
    assert len(done) > 2
    assert seen[-1] == ("noise.gz", len(BODY), len(BODY))
    assert mirror.asked == [("/mnist/noise.gz", None)]


@pytest.mark.parametrize("start", [1, 70_000, len(BODY) - 1])
def test_resumes_with_a_range(start, tmp_path):
    (tmp_path / "noise.gz.part").write_bytes(BODY[:start])
    seen = []
    with serving(Mirror({"noise.gz": BODY})) as mirror:
        download(FILE, tmp_path, [mirror.url], progress=lambda *told: seen.append(told))
    assert_finished(tmp_path)
    assert mirror.asked == [("/mnist/noise.gz", f"bytes={start}-")]
    assert mirror.sent == [len(BODY) - start]
    assert seen[0][1] > start
    assert seen[-1][1:] == (len(BODY), len(BODY))


def test_restarts_where_the_server_ignores_ranges(tmp_path):
    (tmp_path / "noise.gz.part").write_bytes(BODY[:1000])
    with serving(Mirror({"noise.gz": BODY}, ranges=False)) as mirror:
        download(FILE, tmp_path, [mirror.url])
    assert_finished(tmp_path)
    assert mirror.sent == [len(BODY)]


@pytest.mark.parametrize("announce", [True, False])
def test_works_without_an_announced_length(announce, tmp_path):
    seen = []
    with serving(Mirror({"noise.gz": BODY}, announce=announce)) as mirror:
        download(FILE, tmp_path, [mirror.url], progress=lambda *told: seen.append(told[2]))
    assert_finished(tmp_path)
    assert set(seen) == {len(BODY) if announce else None}


def test_takes_up_a_cut_connection(tmp_path):
    # every answer brings a third of the file, then the server hangs up
    with serving(Mirror({"noise.gz": BODY}, cut=lambda request: len(BODY) // 3)) as mirror:
        download(FILE, tmp_path, [mirror.url])
    assert_finished(tmp_path)
    third = len(BODY) // 3
    assert [asked for _, asked in mirror.asked[:3]] == [None, f"bytes={third}-", f"bytes={2 * third}-"]


def test_a_mirror_that_always_cuts_at_once_is_left_for_the_next(tmp_path):
    with (
        serving(Mirror({"noise.gz": BODY}, cut=lambda request: 0)) as bad,
        serving(Mirror({"noise.gz": BODY})) as good,
    ):
        download(FILE, tmp_path, [bad.url, good.url])
    assert_finished(tmp_path)
    assert 2 <= len(bad.asked) <= 4


def test_what_one_mirror_began_another_finishes(tmp_path):
    def once(request):
        return 100_000 if request == 1 else 0

    with serving(Mirror({"noise.gz": BODY}, cut=once)) as bad, serving(Mirror({"noise.gz": BODY})) as good:
        download(FILE, tmp_path, [bad.url, good.url])
    assert_finished(tmp_path)
    assert good.asked == [("/mnist/noise.gz", "bytes=100000-")]


def test_connection_lost_for_good_keeps_only_the_part(tmp_path):
    with (
        serving(Mirror({"noise.gz": BODY}, cut=lambda request: 100_000 if request == 1 else 0)) as mirror,
        pytest.raises(InputError, match=r"the connection broke after 100000 of \d+ bytes.*is resumed"),
    ):
        download(FILE, tmp_path, [mirror.url])
    assert [path.name for path in tmp_path.iterdir()] == ["noise.gz.part"]
    assert (tmp_path / "noise.gz.part").read_bytes() == BODY[:100_000]


def test_wrong_content_is_thrown_away_and_the_next_mirror_asked(tmp_path):
    with serving(Mirror({"noise.gz": OTHER})) as bad, serving(Mirror({"noise.gz": BODY})) as good:
        download(FILE, tmp_path, [bad.url, good.url])
    assert_finished(tmp_path)
    assert len(bad.asked) == 1
    assert good.asked == [("/mnist/noise.gz", None)]


@pytest.mark.parametrize("body", [OTHER, b"<html>moved</html>", gzip.compress(CONTENT[:-1]), BODY[:-4], b""])
def test_wrong_content_everywhere_leaves_nothing(body, tmp_path):
    with (
        serving(Mirror({"noise.gz": body})) as mirror,
        pytest.raises(InputError, match=r"no mirror gave it.*wrong SHA-256"),
    ):
        download(FILE, tmp_path, [mirror.url])
    assert list(tmp_path.iterdir()) == []


def test_a_stale_part_is_started_over(tmp_path):
    (tmp_path / "noise.gz.part").write_bytes(OTHER[:5000])
    with serving(Mirror({"noise.gz": BODY})) as mirror:
        download(FILE, tmp_path, [mirror.url])
    assert_finished(tmp_path)
    assert [asked for _, asked in mirror.asked] == ["bytes=5000-", None]


def test_a_part_that_was_complete_only_wants_its_name(tmp_path):
    (tmp_path / "noise.gz.part").write_bytes(BODY)
    with serving(Mirror({"noise.gz": BODY})) as mirror:
        download(FILE, tmp_path, [mirror.url])
    assert_finished(tmp_path)
    assert mirror.sent == []


def test_a_part_that_is_too_long_is_started_over(tmp_path):
    (tmp_path / "noise.gz.part").write_bytes(BODY + b"more")
    with serving(Mirror({"noise.gz": BODY})) as mirror:
        download(FILE, tmp_path, [mirror.url])
    assert_finished(tmp_path)
    assert mirror.sent == [len(BODY)]


def test_a_body_longer_than_any_right_one_is_not_read_to_its_end(tmp_path):
    seen = []
    with (
        serving(Mirror({"noise.gz": BODY + 10 * OTHER}, announce=False)) as mirror,
        pytest.raises(InputError, match="wrong SHA-256"),
    ):
        download(FILE, tmp_path, [mirror.url], progress=lambda *told: seen.append(told[1]))
    assert max(seen) < len(BODY) + 200_000
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [404, 403, 500, 503])
def test_refusals_lead_to_the_next_mirror(status, tmp_path):
    with serving(Mirror({}, status=status)) as bad, serving(Mirror({"noise.gz": BODY})) as good:
        download(FILE, tmp_path, [bad.url, good.url])
    assert_finished(tmp_path)
    assert len(bad.asked) == 1


def test_every_mirrors_reason_is_told(closed, tmp_path):
    with (
        serving(Mirror({})) as missing,
        pytest.raises(InputError, match=r"HTTP 404.*refused.*copy the file .* into .*Four in all\.$"),
    ):
        download(FILE, tmp_path, [missing.url, closed], otherwise="Four in all.")
    assert list(tmp_path.iterdir()) == []


def test_a_silent_server_times_out(tmp_path):
    with (
        serving(Mirror({"noise.gz": BODY}, hold=threading.Event())) as mirror,
        pytest.raises(InputError, match=r"the connection broke .*timed out"),
    ):
        download(FILE, tmp_path, [mirror.url], timeout=0.2)
    assert [path.name for path in tmp_path.iterdir()] == ["noise.gz.part"]


def test_interruption_leaves_only_the_part_and_is_resumed(tmp_path):
    def stop(name, done, total):
        if done > 100_000:
            raise KeyboardInterrupt

    with serving(Mirror({"noise.gz": BODY})) as mirror:
        with pytest.raises(KeyboardInterrupt):
            download(FILE, tmp_path, [mirror.url], progress=stop)
        assert [path.name for path in tmp_path.iterdir()] == ["noise.gz.part"]
        download(FILE, tmp_path, [mirror.url])
    assert_finished(tmp_path)
    assert mirror.asked[1][1] not in (None, "bytes=0-")


def test_killed_in_the_middle_and_resumed(tmp_path):
    script = f"""
import sys
from pathlib import Path
from symscope.data._download import RemoteFile, download
file = RemoteFile({FILE.name!r}, {FILE.size}, {FILE.sha256!r})
download(file, Path({str(tmp_path)!r}), [sys.argv[1]])
"""
    part = tmp_path / "noise.gz.part"
    with serving(Mirror({"noise.gz": BODY}, hold=threading.Event())) as mirror:
        process = subprocess.Popen([sys.executable, "-c", script, mirror.url])
        limit = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size > 50_000):
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert [path.name for path in tmp_path.iterdir()] == ["noise.gz.part"]
        arrived = part.stat().st_size
        assert part.read_bytes() == BODY[:arrived]
        mirror.hold.set()
        download(FILE, tmp_path, [mirror.url])
    assert_finished(tmp_path)
    assert mirror.asked == [("/mnist/noise.gz", None), ("/mnist/noise.gz", f"bytes={arrived}-")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the system's always-full device")
def test_a_full_disk_is_told(tmp_path):
    (tmp_path / "noise.gz.part").symlink_to("/dev/full")
    with (
        serving(Mirror({"noise.gz": BODY})) as mirror,
        pytest.raises(InputError, match="cannot store the download: the disk is full; free some space"),
    ):
        download(FILE, tmp_path, [mirror.url])
    assert not (tmp_path / "noise.gz").exists()


def unwritable(tmp_path: Path) -> Path:
    """A folder in which even the superuser cannot make a file, where there is one."""
    if os.geteuid() == 0:
        return Path("/sys")
    tmp_path.chmod(0o500)
    return tmp_path


@pytest.mark.skipif(not Path("/sys").is_dir(), reason="needs a folder that cannot be written to")
def test_a_read_only_folder_is_told(tmp_path):
    folder = unwritable(tmp_path)
    with (
        serving(Mirror({"noise.gz": BODY})) as mirror,
        pytest.raises(InputError, match=r"cannot store the download: .*choose another folder"),
    ):
        download(FILE, folder, [mirror.url])


def test_a_folder_that_is_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot store the download: (File exists|Not a directory)"):
        download(FILE, tmp_path / "file", ["http://127.0.0.1:9/"])
    with (
        pytest.raises(InputError, match=r"cannot store the download: (File exists|Not a directory)"),
        locked(tmp_path / "file"),
    ):
        pass


@pytest.mark.parametrize(
    "mirrors", [[], ["ftp://example.org/"], ["file:///etc/"], ["https://a.org/", "b.org"]]
)
def test_mirrors_must_be_http(mirrors):
    with pytest.raises(InputError, match=r"mirrors: expected .*http or https addresses"):
        check_mirrors(mirrors)


def test_content_counts_not_compression(tmp_path):
    path = tmp_path / "any"
    for stored in (CONTENT, gzip.compress(CONTENT, 1), gzip.compress(CONTENT, 9)):
        path.write_bytes(stored)
        assert holds_content(path, FILE)
    for stored in (
        CONTENT[:-1],
        CONTENT + b"x",
        gzip.compress(CONTENT + b"x"),
        OTHER,
        BODY[:-1],
        BODY + b"x",
        b"",
    ):
        path.write_bytes(stored)
        assert not holds_content(path, FILE)
    with pytest.raises(InputError, match="expected a readable file"):
        holds_content(tmp_path / "nothing", FILE)


def test_a_second_process_waits(tmp_path):
    pytest.importorskip("fcntl")
    entered = threading.Event()

    def second():
        with locked(tmp_path):
            entered.set()

    thread = threading.Thread(target=second)
    with locked(tmp_path):
        thread.start()
        assert not entered.wait(0.3)
    assert entered.wait(10)
    thread.join()
