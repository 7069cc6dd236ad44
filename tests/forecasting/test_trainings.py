"""Trainings as cells: the same bits from a folder, from workers and from here; what decides a cell's key."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from symscope.data import LabelledData
from symscope.errors import DivergedError, InputError
from symscope.forecasting import (
    ForecastStopped,
    _full_kernel,
    _projected_kernel,
    _remedy_trials,
    _trainings,
    forecast,
    forecast_page,
)
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._stored_answer import answer_from_plain, plain_answer, regression_from_plain
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings, open_trainings
from symscope.forecasting._worker_task import (
    WorkerTask,
    pickled_work,
    run_work,
    samples_digest,
    saved_samples,
)
from symscope.networks import user_model
from symscope.runs import Workers
from symscope.training import Optimiser, StepPlan
from symscope.user_code import load_user_function
from tests.forecasting.own_code import build
from tests.forecasting.problems import blobs, number_net, small_net, spots

PLAN = StepPlan(6, 8, Optimiser("adam", 1e-2))
DATA = blobs(items=6)


def training_of(build=build, data: LabelledData = DATA, plan=PLAN, seed=0, action="C4", **more) -> Training:
    question = as_question(data, action)
    samples = forecast_samples(question, seed=0)
    trainer = DesignTrainer(user_model(build, (6, 6), question.outputs), samples, torch.device("cpu"))
    return Training(trainer, interleaved_designs(samples, question.group)[0], plan, seed, **more)


def key_of(training: Training) -> str:
    return training.identity(samples_digest(training.trainer.samples))["key"]


def asked(**more):
    """A forecast whose plan does not depend on the time that anything takes, as text without times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_remedy_trials, "SLOW", math.inf)
        result = forecast(build, DATA, "C4", method="pilot", budget="1h", steps=9, batch=4, **more)
    plain = result.to_dict()
    for part in (plain, plain["pilot"], plain["pilot"]["plan"]):
        part.pop("seconds")
    plain["pilot"]["plan"].pop("step_seconds")
    for row in plain["advice"] + plain["combinations"]:
        row.pop("training_seconds")
    return json.dumps(plain)


@pytest.mark.parametrize("kernel", ["infinite", "finite"])
def test_a_kernel_regression_is_kept_like_a_training(tmp_path, monkeypatch, kernel):
    ask = partial(
        forecast, small_net, DATA, "C4", method="kernel", kernel=kernel, per_class=2, resume=tmp_path
    )
    first = ask().prediction.full
    assert first is not None
    for module in (_full_kernel, _projected_kernel):
        monkeypatch.setattr(module, "coverage_regression", None)  # nothing is computed again
    again = ask().prediction.full
    for name in ("known", "new", "covered"):
        assert torch.equal(getattr(again, name).total, getattr(first, name).total)
    assert (again.samples, again.notes, again.infinite) == (first.samples, first.notes, kernel == "infinite")
    with pytest.raises(InputError, match="NoneType"):
        ask(ridge=0.5)  # another regression
    [cell] = [path for path in (tmp_path / "cells").iterdir() if "kernel=regression" in path.name]
    record = json.loads(cell.read_text())["record"]
    with pytest.raises(InputError, match="expected a kernel regression on these samples"):
        regression_from_plain({**record["tables"], "known": {}}, training_of().trainer.samples)


class Scaled(nn.Linear):
    """Its factor is neither a weight nor in its name."""

    factor = 1.0

    def forward(self, x):
        return self.factor * super().forward(x.flatten(1))


def scaled(factor: float):
    def made():
        net = Scaled(36, 3)
        net.factor = factor
        return net

    return made


def test_a_key_depends_on_everything_that_decides_a_result_and_on_nothing_else():
    one = training_of()
    other_data = replace(DATA, x=DATA.x.clone())
    other_data.x[0, 1, 2] += 1e-4
    wider = Training(one.trainer, replace(one.design, seen=~one.design.seen), PLAN, 0)
    different = [
        one,
        training_of(seed=1),
        training_of(small_net),
        training_of(data=other_data),
        training_of(action="C2"),
        training_of(plan=replace(PLAN, steps=7)),
        training_of(plan=replace(PLAN, batch=9)),
        training_of(plan=replace(PLAN, optimiser=Optimiser("adam", 2e-2))),
        training_of(keeps_weights=True),
        training_of(scaled(1.0)),
        training_of(scaled(2.0)),
        Training(one.trainer, one.design, PLAN, 0, asked=wider.design),
        wider,
    ]
    keys = [key_of(training) for training in different]
    assert len(set(keys)) == len(keys)
    assert key_of(training_of()) == keys[0]
    assert key_of(Training(one.trainer, one.design, PLAN, 0, asked=one.design)) == keys[0]


def test_the_source_of_a_user_s_class_is_part_of_the_key(tmp_path):
    keys = []
    for folder, body in (("a", "x"), ("b", "x"), ("c", "x + 0 * x")):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "net.py"
        file.write_text(
            "from torch import nn\nclass Net(nn.Linear):\n    def forward(self, x):\n"
            f"        return super().forward(({body}).flatten(1))\ndef build():\n    return Net(36, 3)\n"
        )
        keys.append(key_of(training_of(load_user_function("--model", f"{file}:build"))))
    keys = [key.rpartition("of=")[2] for key in keys]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("numbers", [False, True])
def test_an_answer_comes_back_from_plain_values_bit_for_bit(numbers):
    training = training_of(number_net if numbers else build, spots() if numbers else DATA, keeps_weights=True)
    answer = training.run()
    plain = json.loads(json.dumps(plain_answer(answer)))
    same = answer_from_plain(plain, training.trainer.samples)
    assert plain_answer(same) == plain
    for name in ("known", "new", "covered", "averaged", "fit"):
        one, two = getattr(answer, name), getattr(same, name)
        assert torch.equal(one.total, two.total)
        assert torch.equal(one.count, two.count)
    for one, two in zip(answer.cases, same.cases, strict=True):
        assert torch.equal(one.point, two.point)
        assert torch.equal(one.output, two.output)
        assert (one.position, one.score, one.margin) == (two.position, two.score, two.margin)
        assert numbers == (one.wanted is not None)
    assert all(torch.equal(value, same.weights[name]) for name, value in answer.weights.items())


@pytest.mark.parametrize(
    "change",
    [
        {"known": None},
        {"known": {"total": [[0.0]], "count": [[1]]}},
        {"new": {"total": "many", "count": []}},
        {"cases": [{"sample": 10**9, "element": 0, "output": [0.0], "score": 0.0, "margin": 0.0}]},
        {"cases": [{"sample": -1, "element": 0, "output": [0.0], "score": 0.0, "margin": 0.0}]},
        {"cases": 3},
        {"asymmetry": "none"},
        {"weights": "bm90IHdlaWdodHM="},
        {"weights": 7},
    ],
)
def test_what_is_no_answer_is_refused(change):
    training = training_of()
    plain = plain_answer(training.run()) | change
    with pytest.raises(InputError, match="expected the answer of a training on these samples"):
        answer_from_plain(plain, training.trainer.samples)


def test_a_folder_changes_no_digit_and_nothing_is_trained_twice(tmp_path, monkeypatch):
    plain = asked(seen="0,1: upright", train=True)
    kept = asked(seen="0,1: upright", train=True, resume=tmp_path / "kept")
    monkeypatch.setattr(Training, "run", lambda *_: pytest.fail("it is there already"))
    again = asked(seen="0,1: upright", train=True, resume=tmp_path / "kept")
    assert plain == kept == again


def test_ctrl_c_loses_no_finished_training(tmp_path, monkeypatch):
    whole, run, count = asked(), Training.run, 0

    def pressed(self, progress=None):
        nonlocal count
        if count == 1:
            raise KeyboardInterrupt
        count += 1
        return run(self, progress)

    monkeypatch.setattr(Training, "run", pressed)
    with pytest.raises(ForecastStopped) as stop:
        asked(resume=tmp_path)
    result = stop.value.result
    assert result.pilot.plan.lengths == (3,)
    assert "its trainings at the cost of 9 steps are missing, those at 3 are here" in result.notes[-2]
    assert f"resume {str(tmp_path)!r}" in result.notes[-1]
    count = 2
    assert asked(resume=tmp_path) == whole
    assert count - 1 == len(list((tmp_path / "cells").glob("network*")))


def test_workers_change_no_digit(tmp_path):
    """Two processes, a network of the user's own file, whole trainings; then the folder alone."""
    assert asked(train=True, workers=2, resume=tmp_path) == asked(train=True)
    assert not list(tmp_path.glob(".unfinished*"))


def test_a_worker_gives_what_is_given_here():
    training = training_of()
    identity = training.identity("")
    saved = io.BytesIO()
    torch.save(saved_samples(training.trainer.samples), saved)
    task = WorkerTask(identity, 1, "cpu", pickled_work(training), saved.getvalue(), (), "/")
    record = run_work(task)
    assert record["status"] == "done"
    assert record["tables"] == plain_answer(training.run())
    unknown = replace(task, work=task.work.replace(b"torch.nn", b"torch.mm"))
    assert run_work(unknown)["status"] == "refused"
    wild = training_of(small_net, plan=replace(PLAN, optimiser=Optimiser("sgd", 1e38)))
    failed = run_work(replace(task, work=pickled_work(wild)))
    assert failed["status"] == "failed"
    assert "the loss is" in failed["message"]
    assert failed["diverged"]


def test_a_network_that_cannot_be_sent_is_trained_here_and_said_so():
    class Local(nn.Sequential):
        pass

    training = training_of(lambda: Local(nn.Flatten(), nn.Linear(36, 3)))
    trainings = Trainings(None, Workers(2))
    trainings.announce([training])
    assert plain_answer(trainings.answer(training)) == plain_answer(training.run())
    [note] = trainings.notes
    assert "cannot be sent to other processes" in note
    assert "top level of a file" in note


def test_workers_that_fail_are_reported():
    training, trainings = training_of(), Trainings(None, Workers(1))
    identity = training.identity("")
    task = WorkerTask(identity, 1, "cpu", b"", b"", (), "")
    with pytest.raises(RuntimeError, match="line 1"):
        trainings._take(task, {**identity, "status": "failed", "traceback": "line 1"})
    for diverged, kind in ((False, InputError), (True, DivergedError)):
        own = training_of(seed=1 + diverged)
        failed = {"status": "failed", "message": "it is too wide", "diverged": diverged}
        trainings._take(task, {**trainings._identity(own), **failed})
        trainings.answer(training)  # which has nothing to do with it
        with pytest.raises(kind, match="it is too wide"):
            trainings.answer(own)


def test_trainings_of_lost_workers_run_here_and_no_worker_is_started_again(monkeypatch):
    training, other = training_of(), training_of(seed=1)

    def lost(run, tasks, workers):
        for task in tasks:
            yield task, {**task.identity, "status": "failed", "worker": "", "traceback": "lost"}

    monkeypatch.setattr(_trainings, "finished_cells", lost)
    trainings = Trainings(None, Workers(1))
    trainings.announce([training])
    assert plain_answer(trainings.answer(training)) == plain_answer(training.run())
    assert "so the remaining trainings ran in this one" in trainings.notes[0]
    monkeypatch.setattr(_trainings, "finished_cells", lambda *_: pytest.fail("workers are lost"))
    trainings.announce([other])
    assert plain_answer(trainings.answer(other)) == plain_answer(other.run())
    trainings.close()


def test_measured_times_are_those_of_the_first_call(tmp_path):
    for value in (2.5, 3.5):
        with open_trainings(tmp_path / "kept", None, None) as trainings:
            trainings.begin({"asked": 1})
            assert trainings.measured("step", lambda value=value: value) == 2.5
            trainings.begin({"asked": 2})
            assert trainings.measured(f"step {value}", lambda value=value: value) == value


def test_folders_of_others_and_damaged_cells_are_refused_in_one_line(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("my own")
    with (
        pytest.raises(InputError, match="not empty and holds no trainings"),
        open_trainings(tmp_path / "mine", None, None),
    ):
        pass
    with (
        open_trainings(tmp_path / "kept", None, None),
        pytest.raises(InputError, match="by another process"),
        open_trainings(tmp_path / "kept", None, None),
    ):
        pass
    training = training_of()
    with open_trainings(tmp_path / "kept", None, None) as trainings:
        trainings.answer(training)
    [cell] = (tmp_path / "kept" / "cells").iterdir()
    cell.write_text(cell.read_text().replace('"steps": 6', '"steps": 7'))
    with (
        open_trainings(tmp_path / "kept", None, None) as trainings,
        pytest.raises(InputError, match=r"checksum does not fit.*delete the file and run again"),
    ):
        trainings.answer(training)
    with pytest.raises(InputError, match="exclude each other"), open_trainings(None, 2, "tcp://x:1"):
        pass


def test_a_cluster_changes_no_digit():
    distributed = pytest.importorskip("distributed", reason="needs the extra symscope[dask]")
    training = training_of()
    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        open_trainings(None, None, cluster.scheduler_address) as trainings,
    ):
        assert trainings.at_once(torch.device("cpu")) == 1
        trainings.announce([training])
        assert plain_answer(trainings.answer(training)) == plain_answer(training.run())
        assert trainings.notes == []


@pytest.mark.parametrize(("finished", "asked"), [(1, [0, 2]), (2, [0, 1, 2])])
def test_a_stopped_pilot_answers_for_the_classes_of_its_finished_designs(finished, asked, monkeypatch):
    """Under a group of two elements half of the classes lack one in each of two trainings."""
    run, count = Training.run, 0

    def pressed(self, progress=None):
        nonlocal count
        count += 1
        if count > finished:
            raise KeyboardInterrupt
        return run(self, progress)

    monkeypatch.setattr(Training, "run", pressed)
    with pytest.raises(ForecastStopped) as stop:
        forecast(build, DATA, "flip", method="pilot", budget="1h", steps=9, batch=8)
    result = stop.value.result
    assert (~result.class_accuracy.isnan()).nonzero()[:, 0].tolist() == asked
    assert ("for 1 of 2 parts of the classes" in result.notes[-2]) == (finished == 1)
    low, high = result.interval
    assert 0 <= low <= result.accuracy <= high <= 1
    assert "Pilot trainings at the cost of 3 steps" in forecast_page(result)
