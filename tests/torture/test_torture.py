"""The kill suite itself, for some seconds: it counts what happened. In full: `make torture`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_app import called
from tests.torture.episode import WORDS, Episode

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes through /proc"
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    out = tmp_path_factory.mktemp("reference")
    assert called(*WORDS, "--out", str(out), "--workers", "0") == 0
    return out, 3.0


def test_a_program_that_is_hit_goes_on_and_nothing_is_lost(tmp_path, reference):
    tally = Episode(0, 4, tmp_path / "episode", *reference).play(hits=1)
    assert tally.faults == []
    assert (tally.counts["tables equal"], tally.counts["finished cells checked"]) == (2, 16)


def test_what_must_not_happen_is_counted(tmp_path, reference):
    episode = Episode(0, 0, tmp_path / "episode", *reference)
    [whole] = reference[0].iterdir()
    folder = episode.out / whole.name
    for path in sorted(whole.rglob("*")):
        if path.is_file():
            (folder / path.relative_to(whole)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(whole)).write_bytes(path.read_bytes())
    episode._look()
    assert len(episode.seen) == 16
    first, second, *_ = sorted((folder / "cells").glob("*.json"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-20])
    episode._look()
    kinds = {line.partition(":")[0] for line in episode.tally.faults}
    assert kinds == {"finished cell lost", "damaged cell"}
    assert episode.tally.counts["finished cell lost"] == 2
