from __future__ import annotations

import os
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.numerics import atomic_file
from symscope.training import Checkpoint
from symscope.training._checkpoint import content_sum

CPU = torch.device("cpu")
PROBLEM = {"kind": "toy", "seeds": [0, 1]}


def test_what_is_saved_comes_back(tmp_path):
    checkpoint = Checkpoint(tmp_path / "deep" / "state.pt")
    checkpoint.prepare()
    assert checkpoint.load(PROBLEM, CPU) is None
    checkpoint.save(PROBLEM, {"epoch": 3, "w": torch.tensor([1.5, -2.0])})
    state = checkpoint.load(PROBLEM, CPU)
    assert state["epoch"] == 3
    assert state["w"].tolist() == [1.5, -2.0]
    assert os.listdir(tmp_path / "deep") == ["state.pt"]


def test_what_a_killed_process_left_is_swept(tmp_path):
    left = {name: left_behind(tmp_path / name) for name in ("state.pt", "other.pt")}
    assert sorted(os.listdir(tmp_path)) == sorted(left.values())
    Checkpoint(tmp_path / "state.pt").prepare()
    assert os.listdir(tmp_path) == [left["other.pt"]]


def left_behind(path):
    """The name of half a file, as a process that is killed while writing leaves it."""
    before = set(os.listdir(path.parent))
    with atomic_file(path):
        [name] = set(os.listdir(path.parent)) - before
    path.rename(path.with_name(name))
    return name


def test_another_problem_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "state.pt")
    checkpoint.save(PROBLEM, {"epoch": 3})
    with pytest.raises(InputError, match=r"another training; seeds is \[0, 1\] there, \[0, 2\] here"):
        checkpoint.load({**PROBLEM, "seeds": [0, 2]}, CPU)


@pytest.mark.parametrize("length", [0, 5, 200, -20])
def test_damaged_files(tmp_path, length):
    path = tmp_path / "state.pt"
    checkpoint = Checkpoint(path)
    checkpoint.save(PROBLEM, {"w": torch.arange(50.0)})
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(
        InputError, match=r"damaged or not a checkpoint .*; delete it to train from the beginning"
    ):
        checkpoint.load(PROBLEM, CPU)


@given(content=st.one_of(st.just(b"junk"), st.binary(max_size=200), st.text(max_size=40).map(str.encode)))
def test_any_other_file_is_refused_in_one_line(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.pt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"any\.pt: (damaged or not a checkpoint|not a training)") as caught:
        Checkpoint(path).load(PROBLEM, CPU)
    assert "\n" not in str(caught.value)


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def test_a_file_that_would_run_code_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Bomb(), protocol=2))
    torch.save({"format": 1, "problem": PROBLEM, "state": Bomb()}, tmp_path / "torch.pt")
    for name in ("plain.pt", "torch.pt"):
        with pytest.raises(InputError, match="damaged or not a checkpoint"):
            Checkpoint(tmp_path / name).load(PROBLEM, CPU)
    assert not (tmp_path / "exploded").exists()


def test_another_format_is_refused(tmp_path):
    torch.save({"weights": torch.ones(2)}, tmp_path / "state.pt")
    with pytest.raises(InputError, match="not a training of this version"):
        Checkpoint(tmp_path / "state.pt").load(PROBLEM, CPU)


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    checkpoint = Checkpoint(tmp_path / "file" / "state.pt")
    with pytest.raises(InputError, match="its folder cannot be written"):
        checkpoint.prepare()
    with pytest.raises(InputError, match=r"cannot be written .*; the state before is kept"):
        checkpoint.save(PROBLEM, {"epoch": 1})
    with pytest.raises(InputError, match="every: expected an integer of at least 1"):
        Checkpoint(tmp_path / "state.pt", every=0)


@pytest.mark.parametrize("dtype", [torch.bool, torch.bfloat16, torch.float32, torch.float64, torch.int64])
@given(place=st.integers(0, 34), seed=st.integers(0, 5))
def test_a_content_sum_sees_every_entry(dtype, place, seed):
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(seed)).mul(9).to(dtype)
    other = x.clone()
    other.view(-1)[place] = ~other.view(-1)[place] if dtype == torch.bool else other.view(-1)[place] + 1
    assert content_sum(x) == content_sum(x.clone())
    assert content_sum(x) != content_sum(other)
    assert content_sum(x) == content_sum(x.T.contiguous().T)
