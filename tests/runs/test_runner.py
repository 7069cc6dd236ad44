"""Running: resumed, shuffled, spread over processes, with failing and murderous cells: the same results."""

from __future__ import annotations

import json
import random
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Verdict, Workers, _scheduling, run_experiments, run_report
from tests.runs.program import tables, toy_request, toy_run


def test_workers_and_order_change_nothing(tmp_path):
    here = toy_run(tmp_path / "here", workers=0)
    [shuffled] = run_experiments(
        [toy_request()],
        tmp_path / "shuffled",
        Workers(processes=0),
        reorder=lambda t: random.Random(3).sample(t, len(t)),
    )
    pool = toy_run(tmp_path / "pool", workers=2)
    assert len(tables(here.folder)) == 2
    assert tables(here.folder) == tables(shuffled.folder) == tables(pool.folder)
    assert tables(toy_run(tmp_path / "other", seed=1).folder) != tables(here.folder)


def test_a_finished_run_is_not_run_again(tmp_path):
    first = toy_run(tmp_path)
    cells = {path: path.stat().st_mtime_ns for path in first.folder.rglob("*.*")}
    calls = []
    [second] = run_experiments(
        [toy_request()],
        tmp_path,
        Workers(processes=0),
        progress=lambda asked, done, total: calls.append((done, total)),
        on_finish=lambda asked, outcome: calls.append(outcome),
    )
    assert second == first
    assert calls == [(6, 6), first]
    assert {path: path.stat().st_mtime_ns for path in first.folder.rglob("*.*")} == cells
    run_experiments([toy_request()], tmp_path, Workers(processes=0), fresh=True)
    assert {path: path.stat().st_mtime_ns for path in first.folder.rglob("*.*")} != cells


def test_only_missing_cells_are_run(tmp_path):
    first = toy_run(tmp_path)
    before = tables(first.folder)
    gone = sorted((first.folder / "cells").iterdir())[2]
    kept = {path: path.stat().st_mtime_ns for path in (first.folder / "cells").iterdir() if path != gone}
    gone.unlink()
    done = []
    run_experiments(
        [toy_request()], tmp_path, Workers(processes=0), progress=lambda asked, n, total: done.append(n)
    )
    assert done == [5, 6]
    assert gone.exists()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert tables(first.folder) == before


def test_a_run_that_goes_on_elsewhere_names_both_machines(tmp_path):
    first = toy_run(tmp_path)
    here = first.environment()
    assert "continued" not in here
    elsewhere = {**here, "processor": "Z80", "cores": 1}
    (first.folder / "environment.json").write_text(json.dumps(elsewhere))
    for _ in range(2):  # and going on once more here says nothing new
        next((first.folder / "cells").iterdir()).unlink()
        again = toy_run(tmp_path).environment()
        assert again["processor"] == "Z80"
        assert again["continued"].startswith(f"after 5 of 6 cells on {here['processor']}, ")
        assert again["continued"].count(" cells on ") == 1
    assert "after 5 of 6 cells on" in run_report([first.folder])


def test_a_run_that_was_stopped_before_it_was_closed_is_closed(tmp_path):
    first = toy_run(tmp_path)
    (first.folder / "summary.json").unlink()
    (first.folder / "claims.json").unlink()
    assert toy_run(tmp_path).claims == first.claims


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(tmp_path):
    outcome = toy_run(tmp_path, "fail=1,4")
    assert (outcome.failed, outcome.cells, outcome.status) == (2, 6, 1)
    assert [claim.verdict for claim in outcome.claims] == [*[Verdict.NOT_CHECKED] * 3, None]
    assert "2 of 6 cells failed" in outcome.claims[0].why
    done = []
    run_experiments(
        [toy_request("fail=1,4")],
        tmp_path,
        Workers(processes=0),
        progress=lambda asked, n, total: done.append(n),
    )
    assert done == [4, 5, 6]  # failed cells are tried again


def test_a_cell_that_kills_its_worker_is_the_only_one_lost(tmp_path):
    outcome = toy_run(tmp_path, "cells=2", "kill=0", workers=1)
    assert (outcome.failed, outcome.cells) == (1, 2)
    [record] = [
        path for path in (outcome.folder / "cells").iterdir() if "worker process died" in path.read_text()
    ]
    assert record.name.startswith("index=0-")


class Mortal(Executor):
    """A pool that breaks with the cell that kills, and its calls in flight with it; here without processes.

    A patient one holds every call in flight until then, so that all of them are suspects. A tired one breaks
    after each cell that is finished.
    """

    def __init__(self, killer: int | None = None, *, patient: bool = False, tired: bool = False) -> None:
        self.killer, self.patient, self.tired, self.broken = killer, patient, tired, False
        self.flying: list[Future] = []

    def submit(self, fn, /, task):
        if self.broken:
            raise BrokenProcessPool
        future = Future()
        self.flying.append(future)
        self.broken = task.parameters["index"] == self.killer
        if self.broken:
            for one in self.flying:
                if not one.done():
                    one.set_exception(BrokenProcessPool())
        elif not self.patient:
            future.set_result(fn(task))
            self.broken = self.tired
        return future


def test_suspects_share_a_worker_until_one_kills_it(tmp_path, monkeypatch):
    pools = []

    @contextmanager
    def mortal(workers, *, threads):
        pools.append(workers)
        yield Mortal(3, patient=len(pools) == 1)

    monkeypatch.setattr(_scheduling, "local_executor", mortal)
    outcome = toy_run(tmp_path, "cells=12", workers=4)
    assert (outcome.failed, outcome.cells) == (1, 12)
    assert outcome.claims[0].why.startswith("1 of 12 cells failed")
    [lost] = [
        path for path in (outcome.folder / "cells").iterdir() if "worker process died" in path.read_text()
    ]
    assert lost.name.startswith("index=3-")
    assert pools[0] == pools[-1] == 4  # the first, and one for the cells that were not in flight
    assert set(pools[1:-1]) == {1}
    assert len(pools[1:-1]) <= 2  # for four suspects: a new one only where the first was killed


def test_a_worker_that_dies_between_two_cells_takes_none_with_it(tmp_path, monkeypatch):
    pools = []

    @contextmanager
    def tired(workers, *, threads):
        pools.append(workers)
        yield Mortal(tired=True)

    monkeypatch.setattr(_scheduling, "local_executor", tired)
    assert toy_run(tmp_path, "cells=3", workers=2).status == 0
    assert pools == [2, 2, 2]  # no cell was in flight, so none is a suspect


def test_a_broken_plot_loses_no_results(tmp_path):
    def broken(config, given):
        return given["names"]

    asked = toy_request()
    [outcome] = run_experiments(
        [replace(asked, experiment=replace(asked.experiment, plot=broken, claims=broken))],
        tmp_path,
        Workers(processes=0),
    )
    assert (outcome.failed, outcome.status) == (0, 1)
    assert len(outcome.problems) == 2
    assert "KeyError: 'names'" in outcome.problems[0]
    assert len(tables(outcome.folder)) == 2


def test_where_every_cell_failed_nothing_is_plotted_or_claimed(tmp_path):
    outcome = toy_run(tmp_path, "fail=0,1,2,3,4,5")
    assert (outcome.failed, outcome.status) == (6, 1)
    assert outcome.problems == outcome.claims == ()


def test_several_experiments_run_together(tmp_path):
    asked = [
        toy_request(),
        RunRequest.of("spectral/missing", changes=["counts=1", "patterns=2"], device="cpu"),
    ]
    order = []
    outcomes = run_experiments(
        asked, tmp_path, Workers(processes=0), on_finish=lambda one, outcome: order.append(one.experiment.id)
    )
    assert [outcome.status for outcome in outcomes] == [0, 0]
    assert order == ["toy/matrices", "spectral/missing"]


def test_bad_places_and_double_requests_are_refused(tmp_path):
    with pytest.raises(InputError, match="exclude each other"):
        Workers(processes=2, dask="tcp://x")
    with pytest.raises(InputError, match=r"0 for none, at most 1024; got -2"):
        Workers(processes=-2)
    with pytest.raises(InputError, match="asked for twice"):
        run_experiments([toy_request(), toy_request()], tmp_path, Workers(processes=0))
    cell = next((toy_run(tmp_path).folder / "cells").iterdir())
    cell.write_text("damaged")
    with pytest.raises(InputError, match="is damaged"):
        toy_run(tmp_path)


def test_two_configs_of_one_experiment_do_not_mix(tmp_path):
    asked = [toy_request(f"threshold={value}") for value in (1, 2)]
    first, second = run_experiments(asked, tmp_path, Workers(processes=0))
    assert first.folder != second.folder
    assert (first.cells, second.cells, first.failed, second.failed) == (6, 6, 0, 0)
    assert tables(first.folder) == tables(second.folder)
