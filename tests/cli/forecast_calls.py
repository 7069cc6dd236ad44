"""`symscope forecast` called as from a shell."""

from __future__ import annotations

import pytest

from symscope.cli import main

OWN = "tests.forecasting.own_code"
KERNEL = ("--method", "kernel", "--per-class", "2", "--resamples", "1")


def called(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(("forecast", *words))
    return int(ended.value.code or 0)
