"""What is asked decides the folder, the cells and the seeds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from symscope import InputError
from symscope.runs import RunRequest, redraw_run
from symscope.runs._registry import find_experiment
from symscope.runs._store import RunFolder
from tests.runs.program import TOY, toy_request, toy_run


def test_everything_that_matters_makes_a_new_run():
    base = toy_request()
    others = [
        toy_request("cells=3"),
        toy_request(seed=1),
        toy_request(preset="paper"),
        replace(base, device="cuda"),
    ]
    newer = replace(base, experiment=replace(base.experiment, version=2))
    names = {asked.folder_name for asked in [base, *others, newer]}
    assert len(names) == 6
    assert toy_request("cells=6").folder_name == base.folder_name  # the preset's own value is no change


def test_a_folder_remembers_its_request(tmp_path):
    outcome = toy_run(tmp_path, "cells=2", seed=5)
    assert RunRequest.from_folder(outcome.folder, [TOY]) == toy_request("cells=2", seed=5)


def test_code_that_a_folder_names_is_imported_only_if_the_caller_names_it_too(tmp_path):
    own, trace = tmp_path / "own.py", tmp_path / "imported"
    own.write_text(f"{Path(TOY).read_text()}\nopen({str(trace)!r}, 'w').close()\n")
    folder = toy_run(tmp_path, "cells=2").folder
    asked = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**asked, "modules": [str(own), "antigravity"]}))
    for read in (RunRequest.from_folder, redraw_run):
        with pytest.raises(InputError, match=f"add --module {own} --module antigravity"):
            read(folder)
    assert not trace.exists()
    assert RunRequest.from_folder(folder, [TOY]) == toy_request("cells=2")  # it may lie elsewhere
    assert not trace.exists()
    assert RunRequest.from_folder(folder, [str(own)]).modules == (str(own),)
    assert trace.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"symscope": "0.0.1"}, "made by version 0.0.1 of symscope"),
        ({"version": 7}, "made by version 7 of the experiment toy/matrices, this is 1"),
        ({"config": {"cells": 2}}, "another version of symscope"),
        ({"seed": 9}, "changed by hand"),
        ({"preset": "../.."}, "changed by hand"),
        ({"experiment": "toy/gone"}, "no experiment is called 'toy/gone'"),
    ],
)
def test_folders_of_another_version_are_not_continued(tmp_path, change, message):
    folder = toy_run(tmp_path, "cells=2").folder
    asked = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**asked, **change}))
    with pytest.raises(InputError, match=message):
        RunRequest.from_folder(folder, [TOY])


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_folder_made_on_a_gpu_is_continued_on_one(tmp_path):
    asked = replace(toy_request(), device="cuda")
    RunFolder(tmp_path / "run").create(asked.description(), {})
    with pytest.raises(
        InputError, match=r"made on a GPU.*or start a new run with `symscope reproduce toy/mat"
    ):
        RunRequest.from_folder(tmp_path / "run", [TOY])
    assert RunRequest.from_folder(tmp_path / "run", [TOY], continued=False) == asked


def test_bad_requests_are_refused():
    with pytest.raises(InputError, match="has no preset 'quik': did you mean 'quick'"):
        toy_request(preset="quik")
    with pytest.raises(InputError, match="--seed is 0 or more"):
        toy_request(seed=-1)
    with pytest.raises(InputError, match="no setting 'cell': did you mean 'cells'"):
        toy_request("cell=1")
    with pytest.raises(InputError, match="nothing to run"):
        toy_request("cells=0").tasks()
    twice = replace(find_experiment("toy/matrices", [TOY]), cells=lambda config: [{"index": 0}, {"index": 0}])
    with pytest.raises(InputError, match="two cells have the same parameters"):
        replace(toy_request(), experiment=twice).tasks()
    with pytest.raises(InputError, match="--device"):
        RunRequest.of("spectral/missing", device="tpu")
