"""A real Chromium, headless: what it makes of a page, asked through a script inside the page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome"))),
    None,
)

needs_browser = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no Chromium on this machine: install it (apt-get install chromium) to test pages in it",
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=2000",
)


def ask(page: Path, script: str, *, width: int = 1200, dark: bool = False, folder: Path) -> Any:
    """What `script` (the body of a function) returns inside the page, at this width and colour scheme.

    The page is shown in a frame of the given width, because a window cannot be as narrow as a phone.
    """
    inner = folder / "inner.html"
    theme = f'<html lang="en" data-theme="{"dark" if dark else "light"}">'
    inner.write_text(page.read_text(encoding="utf-8").replace('<html lang="en">', theme), encoding="utf-8")
    outer = folder / "outer.html"
    outer.write_text(
        f"""<!doctype html><body style="margin:0">
        <iframe src="inner.html" style="width:{width}px;height:900px;border:0"></iframe>
        <pre id="answer"></pre><script>
        const frame = document.querySelector("iframe");
        frame.addEventListener("load", () => {{
          const window = frame.contentWindow, document = frame.contentDocument;
          const answer = (function () {{ {script} }})();
          frame.ownerDocument.getElementById("answer").textContent = JSON.stringify(answer);
        }});
        </script></body>""",
        encoding="utf-8",
    )
    dom = _chromium("--allow-file-access-from-files", "--dump-dom", outer.as_uri())
    result = re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)
    assert result is not None, f"the page did not answer:\n{dom[-2000:]}"
    assert result[1], f"the script did not run:\n{dom[-2000:]}"
    return json.loads(unescape(result[1]))


def screenshot(page: Path, target: Path, *, width: int, height: int, scale: int = 1) -> None:
    """A picture of the page, with so many dots for each of its pixels."""
    size, dots = f"--window-size={width},{height}", f"--force-device-scale-factor={scale}"
    _chromium(size, dots, f"--screenshot={target}", page.as_uri())


def console_messages(page: Path) -> list[str]:
    """What the browser's console says about the page: errors of scripts, of the policy, of loading."""
    done = _run("--enable-logging=stderr", "--dump-dom", page.as_uri())
    return [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def _chromium(*words: str) -> str:
    return _run(*words).stdout


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
