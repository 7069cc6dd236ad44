"""What a person sees in a terminal while experiments run."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from tests.experiments.program import ENVIRONMENT, TOY


def test_bars_time_left_and_claims_in_a_real_terminal(tmp_path):
    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "symscope.cli",
        "reproduce",
        "toy/matrices",
        "spectral/missing",
        "--module",
        TOY,
    ]
    options = ["--workers", "0", "--device", "cpu", "--out", str(tmp_path)]
    environment = {**ENVIRONMENT, "COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
    process = subprocess.Popen([*command, *options], stdout=slave, stderr=slave, stdin=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the terminal closes with the last process on it
            break
        if not part:
            break
        shown += part
    assert process.wait(timeout=30) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"toy/matrices\s+━+.*6/6", text)
    assert re.search(r"spectral/missing\s+[━╸╺ ]+.*/10", text)
    assert re.search(r"everything\s+[━╸╺ ]+.*/16 .*left", text)
    final = text[text.rindex("Claims") :]
    assert "✓ reproduced" in final
    assert "○ not checked at this size" in final
