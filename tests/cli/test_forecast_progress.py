"""How far a forecast is, where standard error is a file."""

from __future__ import annotations

import io
import threading

from symscope.cli._forecast_progress import ForecastProgress


class Waiting(io.StringIO):
    """A file that tells when something was written to it."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def flush(self):
        self.written.set()


def test_a_file_gets_a_line_now_and_then_also_while_nobody_calls(monkeypatch):
    file = Waiting()
    monkeypatch.setattr("sys.stderr", file)
    with ForecastProgress(every=0.01) as progress:
        progress("mlp", "training, loss 0.1", 0, 8)
        progress("mlp", "training, loss 0.1", 2, 8)
        for _ in range(2):
            assert file.written.wait(20)
            file.written.clear()
    lines = file.getvalue().splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("mlp: training, loss 0.1, 25 %, ") for line in lines)
    assert all(line.endswith(" s left") for line in lines)


def test_what_ends_soon_writes_nothing(capsys):
    with ForecastProgress(every=1000.0) as progress:
        progress("mlp", "transforming samples", 0, 0)
    assert capsys.readouterr().err == ""
