from __future__ import annotations

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from release.audit import known_vulnerabilities, main
from release.lock import STEPS, LockedPackage, locked

SAFE, OLD = (LockedPackage("safe", "1", "", ("0" * 64,)), LockedPackage("old", "2", "", ("0" * 64,)))


@contextlib.contextmanager
def osv(reply):
    """A real server that answers as OSV does: `reply` makes one result from one query."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments):
            return

        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"])
            body = json.dumps({"results": [reply(one) for one in asked[-1]]}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_proxy_for_the_local_server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def two_pages(query):
    if query["package"]["name"] != "old":
        return {}
    if "page_token" in query:
        return {"vulns": [{"id": "PYSEC-2"}]}
    return {"vulns": [{"id": "GHSA-1"}], "next_page_token": "more"}


def test_all_pages_of_what_is_known_are_read():
    with osv(two_pages) as (address, asked):
        assert known_vulnerabilities([SAFE, OLD], address) == {OLD: ["GHSA-1", "PYSEC-2"]}
    assert [len(queries) for queries in asked] == [2, 1]
    assert asked[0][0] == {"package": {"name": "safe", "ecosystem": "PyPI"}, "version": "1"}


@pytest.mark.parametrize(("bad", "status"), [("jinja2", 1), ("not-locked", 0)])
def test_every_locked_package_is_asked_about(bad, status, capsys):
    with osv(lambda query: {"vulns": [{"id": "X-1"}]} if query["package"]["name"] == bad else {}) as server:
        assert main(server[0]) == status
    assert len(server[1][0]) == len(locked("torch", *STEPS))
    assert ("jinja2 3.1.6: X-1" in capsys.readouterr().out) == bool(status)


def test_without_a_network_one_line_says_that_nothing_was_checked(capsys):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}/"
    assert main(address) == 2
    [line] = capsys.readouterr().out.splitlines()
    assert "needs a network, nothing was checked" in line


def test_another_answer_is_no_all_clear(capsys):
    with osv(lambda query: None) as (address, _):
        assert main(address) == 2
    assert "nothing was checked" in capsys.readouterr().out
