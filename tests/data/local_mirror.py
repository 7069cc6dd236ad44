"""A real HTTP server on 127.0.0.1 that can be told to misbehave the ways mirrors do."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Mirror:
    """What the server holds and does, and what it was asked."""

    files: dict[str, bytes]
    status: int | None = None  # answer everything with this
    redirect: str | None = None  # send everyone to this address
    announce: bool = True  # send Content-Length
    cut: Callable[[int], int | None] = lambda request: None  # bytes of the body after which to hang up
    hold: threading.Event | None = None  # wait for this after the first half of the body
    asked: list[str] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def serving(mirror: Mirror) -> Iterator[Mirror]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            return

        def do_GET(self) -> None:
            mirror.asked.append(self.path)
            if mirror.redirect is not None:
                self.send_response(302)
                self.send_header("Location", mirror.redirect)
                self.end_headers()
                return
            body = mirror.files.get(self.path.rpartition("/")[2])
            if mirror.status is not None or body is None:
                self.send_error(mirror.status or 404)
                return
            self._begin(body)
            stop = mirror.cut(len(mirror.asked))
            body = body if stop is None else body[:stop]
            with contextlib.suppress(ConnectionError):  # the client may have been killed: that is the test
                half = len(body) // 2
                self.wfile.write(body[:half])
                self.wfile.flush()
                if mirror.hold is not None:
                    mirror.hold.wait(30)
                self.wfile.write(body[half:])
                mirror.sent.append(len(body))

        def _begin(self, body: bytes) -> None:
            self.send_response(200)
            if mirror.announce:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    mirror.url = f"http://127.0.0.1:{server.server_address[1]}/mnist/"
    try:
        yield mirror
    finally:
        if mirror.hold is not None:
            mirror.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
