"""Kernel regression as a cell: the same numbers here, in a worker and from a folder; reasons are not kept."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial

import pytest
import torch

from symscope.forecasting import _regression, forecast
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._question import as_question
from symscope.forecasting._regression import Regression
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._stored_answer import regression_from_plain
from symscope.forecasting._trainings import Trainings, open_trainings
from symscope.forecasting._worker_task import WorkerTask, pickled_work, run_work, saved_samples
from symscope.networks import user_model
from symscope.runs import Workers
from tests.forecasting.own_code import build
from tests.forecasting.problems import blobs, small_net


def regression_of(kernel="infinite", seen="0: upright; 1: every 2nd", seconds=1e9):
    question = as_question(blobs(items=20), "C4", seen=seen)
    model = user_model(small_net, question.shape, question.outputs)
    trainer = DesignTrainer(model, forecast_samples(question, seed=2), torch.device("cpu"))
    return Regression(trainer, question, 3, kernel, 0.01, 0, seconds, 4 * 10**9)


def in_a_worker(regression):
    saved = io.BytesIO()
    torch.save(saved_samples(regression.trainer.samples), saved)
    identity = regression.identity("samples")
    return run_work(WorkerTask(identity, 1, "cpu", pickled_work(regression), saved.getvalue(), (), "."))


@pytest.mark.parametrize("kernel", ["infinite", "finite"])
@pytest.mark.parametrize("seen", ["0: upright; 1: every 2nd", None])
def test_a_worker_gives_what_is_given_here(kernel, seen):
    regression = regression_of(kernel, seen)
    record, here = in_a_worker(regression), regression.run()
    assert record["status"] == "done"
    there = regression_from_plain(record["tables"], regression.trainer.samples)
    for name in ("known", "new", "covered"):
        assert torch.equal(getattr(there, name).count, getattr(here, name).count)
        torch.testing.assert_close(getattr(there, name).total, getattr(here, name).total)
    assert (there.samples, there.infinite) == ((16, 16), kernel == "infinite")
    assert int(here.known.count[0].sum()) == (16 * 3 if seen else 16)


def test_what_decides_a_regression_is_in_its_key():
    one = regression_of()
    keys = {
        each.identity("samples")["key"]
        for each in (
            one,
            regression_of("finite"),
            regression_of(seen="0: 90°"),
            replace(one, ridge=7.0),
            replace(one, seconds=7.0),
            replace(one, memory=7),
        )
    }
    assert len(keys) == 6
    assert one.identity("samples")["key"] in keys
    assert one.identity("others")["key"] not in keys


def test_the_reason_why_there_is_none_is_told_and_not_kept(tmp_path):
    hurried = regression_of(seconds=1e-9)
    reason = in_a_worker(hurried)["tables"]["reason"]
    assert "for all 48 samples" in reason
    with open_trainings(tmp_path / "kept", None, None) as trainings:
        trainings.begin({"asked": 1})
        trainings._keep({**hurried.identity(""), "status": "done", "tables": {"reason": reason}})
        assert not list((tmp_path / "kept" / "cells").glob("*regression*"))


def test_workers_compute_it_beside_the_trainings(monkeypatch, tmp_path):
    """The same accuracies as without workers; here nothing is computed, from the folder neither."""
    ask = partial(
        forecast, build, blobs(items=20), "C4", seen="0: upright", per_class=2, resamples=1, steps=9, batch=4
    )
    alone = ask(budget="10m").prediction.full
    monkeypatch.setattr(_regression.Regression, "run", lambda *_: pytest.fail("computed here"))
    result = ask(budget="10m", workers=2, resume=tmp_path)
    assert result.pilot is not None
    for name in ("known", "new", "covered"):
        torch.testing.assert_close(getattr(result.prediction.full, name).total, getattr(alone, name).total)
    again = ask(budget="10m", resume=tmp_path)
    assert torch.equal(again.prediction.full.new.total, result.prediction.full.new.total)


def test_what_cannot_be_sent_is_computed_here():
    class Local(torch.nn.Linear):
        pass

    def local():
        return torch.nn.Sequential(torch.nn.Flatten(), Local(36, 3))

    regression = regression_of("finite")
    model = user_model(local, (6, 6), 3)
    regression = replace(regression, trainer=replace(regression.trainer, model=model))
    trainings = Trainings(None, Workers(1))
    trainings.announce([regression])
    assert trainings.regression(regression).samples == (16, 16)
    assert trainings.notes == []
