"""The fuzz suite itself: what it counts is what happened, and an input is the same whenever it is made."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from random import Random

import pytest
import torch

from symscope.errors import InputError
from tests.fuzz import driver, hostile
from tests.fuzz.area_grammar import group_name
from tests.fuzz.outcome import ROOT, Kind, Outcome, not_finite, of_call, of_command
from tests.runs.program import ENVIRONMENT

MEGABYTE = 2**20


def toy(random, stock, folder):
    """Every kind of outcome, by seed."""
    seed = int(folder.name.split("-")[1])

    def refuse():
        raise InputError("expected something else")

    calls = [
        lambda: of_call(lambda: 1.0, wrong_type=False, finite=True),
        lambda: of_call(refuse, wrong_type=False, finite=True),
        lambda: of_call(lambda: 1 / 0, wrong_type=False, finite=True),
        lambda: of_call(lambda: torch.zeros(2) / 0, wrong_type=False, finite=True),
        lambda: of_call(lambda: torch.ones(600 * MEGABYTE), wrong_type=False, finite=True),
        lambda: of_call(lambda: len(3), wrong_type=True, finite=True),
        lambda: of_call(lambda: time.sleep(100), wrong_type=False, finite=True),
        lambda: os.kill(os.getpid(), signal.SIGKILL) or Outcome(Kind.ACCEPTED),
    ]
    return f"input {seed}", calls[seed]


def test_every_outcome_is_counted_once(tmp_path, monkeypatch):
    monkeypatch.setitem(driver.AREAS, "toy", toy)
    monkeypatch.setattr(driver, "SECONDS", 3)
    monkeypatch.setattr(driver, "BYTES", 1024 * MEGABYTE)
    stock = tmp_path / "stock"
    stock.mkdir()
    tally = driver.fuzz({"toy": range(8)}, stock, seconds=None, cores=2)
    assert dict(tally.counts["toy"]) == {
        Kind.ACCEPTED: 1,
        Kind.REFUSED: 1,
        Kind.TRACEBACK: 2,
        Kind.NOT_FINITE: 1,
        Kind.MEMORY: 1,
        Kind.WRONG_TYPE: 1,
        Kind.HANG: 1,
    }
    assert {fault.seed for fault in tally.faults.values()} == {2, 3, 4, 6, 7}
    assert any("status -9" in fault.outcome.place for fault in tally.faults.values())


def test_a_few_inputs_of_every_area_show_no_fault():
    """In a process of its own: the shapes that this suite checks at run time would be checked before us."""
    words = ["--inputs", "5", "--first", "0", "--areas", "cli,files,grammar,runs,api"]
    command = [sys.executable, "-m", "tests.fuzz", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^all +25 ", done.stdout, re.MULTILINE), done.stdout


def test_an_input_is_its_area_and_seed():
    assert [group_name(Random("x")) for _ in range(3)] == [group_name(Random("x"))] * 3
    assert len({hostile.text(Random(seed)) for seed in range(200)}) > 40
    assert hostile.damaged(Random(0), b"content" * 9) == hostile.damaged(Random(0), b"content" * 9)


@pytest.mark.parametrize(
    "value", [float("nan"), torch.tensor([1.0, torch.inf]), [{"a": (0.0, float("inf"))}]]
)
def test_numbers_that_are_not_finite_are_seen(value):
    assert not_finite(value)
    assert not not_finite([1.0, {"a": torch.ones(2)}, "nan"])


def test_a_command_is_refused_with_one_line(monkeypatch):
    assert of_command(["list", "groups"]).kind is Kind.ACCEPTED
    assert of_command(["list", "gruops"]).kind is Kind.REFUSED
    monkeypatch.setattr("tests.fuzz.outcome.main", lambda words: 1 / 0)
    assert of_command(["list"]).kind is Kind.TRACEBACK
