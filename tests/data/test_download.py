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
from contextlib import ExitStack

import numpy as np
import pytest
import requests

from symscope.data._download import RemoteFile, _check_redirect, check_mirrors, download, holds_content
from symscope.errors import InputError
from tests.data.local_mirror import Mirror, serving

CONTENT = np.random.default_rng(3).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
BODY = gzip.compress(CONTENT)
FILE = RemoteFile("noise.gz", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
OTHER = gzip.compress(CONTENT[::-1])


@pytest.fixture(autouse=True)
def _no_proxy_for_the_local_server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def closed():
    """An address on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/mnist/"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_fetches_checks_and_reports_progress(tmp_path):
    calls = []
    with serving(Mirror({"noise.gz": BODY})) as mirror:
        path = download(
            FILE, tmp_path / "new" / "folder", [mirror.url], progress=lambda *given: calls.append(given)
        )
    assert path == tmp_path / "new" / "folder" / "noise.gz"
    assert names(path.parent) == ["noise.gz"]
    assert path.read_bytes() == BODY
    done = [call[1] for call in calls]
    assert done == sorted(done)
    assert len(done) > 2
    assert calls[-1] == ("noise.gz", len(BODY), len(BODY))


def test_works_without_an_announced_length(tmp_path):
    calls = []
    with serving(Mirror({"noise.gz": BODY}, announce=False)) as mirror:
        download(FILE, tmp_path, [mirror.url], lambda *given: calls.append(given))
    assert (tmp_path / "noise.gz").read_bytes() == BODY
    assert {total for _, _, total in calls} == {0}


@pytest.mark.parametrize("status", [403, 404, 500])
def test_refusals_lead_to_the_next_mirror(status, tmp_path):
    with serving(Mirror({}, status=status)) as first, serving(Mirror({"noise.gz": BODY})) as second:
        download(FILE, tmp_path, [first.url, second.url])
    assert names(tmp_path) == ["noise.gz"]
    assert len(first.asked) == 1


def test_a_cut_connection_and_wrong_content_lead_to_the_next_mirror(tmp_path):
    with (
        serving(Mirror({"noise.gz": BODY}, cut=lambda request: 5_000)) as cutting,
        serving(Mirror({"noise.gz": OTHER})) as wrong,
        serving(Mirror({"noise.gz": BODY})) as right,
    ):
        download(FILE, tmp_path, [cutting.url, wrong.url, right.url])
    assert (tmp_path / "noise.gz").read_bytes() == BODY
    assert [len(mirror.asked) for mirror in (cutting, wrong, right)] == [1, 1, 1]


@pytest.mark.parametrize("body", [OTHER, BODY[:-1], CONTENT[:100], b"", gzip.compress(CONTENT + b"x")])
def test_wrong_content_everywhere_leaves_nothing(body, tmp_path):
    with serving(Mirror({"noise.gz": body})) as mirror, pytest.raises(InputError, match="wrong SHA-256"):
        download(FILE, tmp_path, [mirror.url])
    assert names(tmp_path) == []


def test_wrong_content_leaves_an_earlier_file_alone(tmp_path):
    (tmp_path / "noise.gz").write_bytes(b"earlier")
    with serving(Mirror({"noise.gz": OTHER})) as mirror, pytest.raises(InputError, match="SHA-256"):
        download(FILE, tmp_path, [mirror.url])
    assert (tmp_path / "noise.gz").read_bytes() == b"earlier"


def test_every_mirrors_reason_is_given(closed, tmp_path):
    with (
        serving(Mirror({}, status=503)) as busy,
        pytest.raises(InputError, match=r"noise.gz: no mirror gave it.*refused.*503.*copy the file"),
    ):
        download(FILE, tmp_path, [closed, busy.url])
    assert names(tmp_path) == []


def test_a_silent_server_times_out(tmp_path):
    hold = threading.Event()
    with (
        serving(Mirror({"noise.gz": BODY}, hold=hold)) as mirror,
        pytest.raises(InputError, match="timed out"),
    ):
        download(FILE, tmp_path, [mirror.url], timeout=0.2)
    assert names(tmp_path) == []


def test_ctrl_c_leaves_nothing(tmp_path):
    def interrupt(*given):
        raise KeyboardInterrupt

    with serving(Mirror({"noise.gz": BODY})) as mirror, pytest.raises(KeyboardInterrupt):
        download(FILE, tmp_path, [mirror.url], interrupt)
    assert names(tmp_path) == []


def test_killed_in_the_middle_nothing_has_the_name_and_the_next_fetch_succeeds(tmp_path):
    program = (
        "import sys; from pathlib import Path; from symscope.data._download import RemoteFile, download; "
        f"download(RemoteFile('noise.gz', {FILE.size}, '{FILE.sha256}'), Path(sys.argv[1]), [sys.argv[2]])"
    )
    with serving(Mirror({"noise.gz": BODY}, hold=threading.Event())) as mirror:
        process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path), mirror.url])
        while not mirror.asked and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "noise.gz").exists()
        mirror.hold.set()
        download(FILE, tmp_path, [mirror.url])
    assert (tmp_path / "noise.gz").read_bytes() == BODY


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full is needed")
def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    import pooch

    def full(url, path, pooch_):
        with open("/dev/full", "wb", buffering=0) as device:
            device.write(b"x")

    monkeypatch.setattr(pooch, "HTTPDownloader", lambda **options: full)
    with pytest.raises(InputError, match="cannot store the download: No space left on device"):
        download(FILE, tmp_path, ["http://127.0.0.1:1/"])
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "folder").write_bytes(b"")
    with pytest.raises(InputError, match="cannot store the download"):
        download(FILE, tmp_path / "folder", ["http://127.0.0.1:1/"])


def test_a_redirect_to_http_is_followed(tmp_path):
    with ExitStack() as servers:
        second = servers.enter_context(serving(Mirror({"noise.gz": BODY})))
        first = servers.enter_context(serving(Mirror({}, redirect=second.url + "noise.gz")))
        download(FILE, tmp_path, [first.url])
    assert (tmp_path / "noise.gz").read_bytes() == BODY


@pytest.mark.parametrize("scheme", ["ftp", "file", "gopher"])
def test_a_redirect_to_anything_else_is_not_followed(scheme, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        target = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/noise.gz"
        with (
            serving(Mirror({}, redirect=target)) as mirror,
            pytest.raises(InputError, match=rf"refused: it redirects to '{scheme}://"),
        ):
            download(FILE, tmp_path, [mirror.url])
        with pytest.raises(BlockingIOError):  # nobody has come
            listening.accept()
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("http://a/", "https://a/x", True),
        ("https://a/", "/x", True),
        ("https://a/", "//b/x", True),
        ("https://a/", "http://a/x", False),
        ("http://a/", "ftp://a/x", False),
    ],
)
def test_https_stays_https(before, after, allowed):
    answer = requests.Response()
    answer.status_code, answer.url, answer.headers["location"] = 302, before, after
    if allowed:
        _check_redirect(answer)
    else:
        with pytest.raises(requests.RequestException, match="redirects"):
            _check_redirect(answer)


@pytest.mark.parametrize(
    "mirrors",
    [
        [],
        "http://example.org",
        ["ftp://example.org"],
        ["example.org"],
        ["http://[::1"],
        ["http://"],
        ["http://example.org:port"],
        ["https://example.org:99999"],
    ],
)
def test_mirrors_must_be_http(mirrors):
    with pytest.raises(InputError, match="mirrors: expected"):
        check_mirrors(mirrors)


def test_content_counts_not_compression(tmp_path):
    plain, packed, other = (tmp_path / name for name in ("plain", "packed", "other"))
    plain.write_bytes(CONTENT)
    packed.write_bytes(gzip.compress(CONTENT, compresslevel=1))
    other.write_bytes(OTHER)
    assert [holds_content(path, FILE) for path in (plain, packed, other)] == [True, True, False]
    with pytest.raises(InputError, match="expected a readable file"):
        holds_content(tmp_path, FILE)
