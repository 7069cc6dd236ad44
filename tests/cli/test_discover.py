"""`symscope discover`: what it prints and writes, and every mistake a user can make."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from symscope.cli._app import main

NETS = """
import torch
from torch import nn

def relu():
    return nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False))

def scalar():
    return nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))

def smooth():
    return nn.Sequential(nn.Linear(2, 1, bias=False), nn.Tanh())

def broken():
    raise RuntimeError("my own mistake")

def leaves():
    raise SystemExit(7)

class Leaving(nn.Linear):
    def forward(self, x):
        raise SystemExit(7)

class Late(nn.Linear):
    calls = 0
    def forward(self, x):
        Late.calls += 1
        if Late.calls > 12:
            raise GeneratorExit("late\\nand long")
        return super().forward(x)

def late():
    return Late(2, 1)

def leaving():
    return Leaving(2, 1)

def leaving_loss(outputs, targets):
    raise SystemExit(7)

def number():
    return 3

class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
    def forward(self, x):
        return self.linear(x) + torch.randn(2)

def noisy():
    return Noisy()

class Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
    def forward(self, x):
        return torch.round(4 * self.linear(x))

def rounded():
    return Rounded()

def meta():
    return nn.Linear(2, 1, device="meta")

def of_two(a, b):
    return relu()

def of_a_seed(number):
    return nn.Linear(1, 1) if number == 5 else relu()

def of_a_width_and_a_seed(width=2, *, seed=0):
    return nn.Linear(width, 1) if seed == 5 else relu()

def tokens():
    return nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(4, 2))

def classifier():
    return nn.Linear(2, 3)

def regression():
    return nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))

class Flat(nn.Linear):
    def forward(self, x):
        return super().forward(x)[:, 0]

def flat():
    return Flat(2, 1)

def convolution():
    return nn.Sequential(nn.Conv2d(1, 1, 3), nn.Flatten())

def large():
    return nn.Sequential(nn.Linear(100, 100), nn.Tanh(), nn.Linear(100, 2))

def mean_loss(outputs, targets):
    return (outputs - targets).square().mean()

def own_loss(outputs, targets):
    return (outputs - targets).abs().sum(1)
"""


CATALOGUE = ("--method", "none")  # no exact search, which takes a second

POINTS = np.random.default_rng(0).normal(size=(50, 2))
NUMBERS = np.random.default_rng(1).normal(size=50)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "symmetric_nets.py").write_text(NETS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["discover", *words])
    shown = capsys.readouterr()
    return int(stopped.value.code or 0), " ".join(shown.out.split()), " ".join(shown.err.split())


def test_it_names_tests_and_writes_a_page_that_needs_no_network(folder, capsys):
    (folder / "trap.py").write_text("raise SystemError('imported, but never named')", encoding="utf-8")
    status, out, _ = asked(capsys, "--model", "symmetric_nets.py:relu", "--loss", "mse", "--out", "page.html")
    assert status == 0
    assert "trap" not in sys.modules
    assert "8 parameters have 2 continuous (R^2) linear symmetries" in out
    assert "rescaling of unit 1 of the hidden units between 0 and 2 symmetry" in out
    assert "permutations of the hidden units between 0 and 2 permutation holds" in out
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "rescaling of unit 0" in page
    assert "<svg" in page
    assert 'src="http' not in page
    assert "https://" not in page.replace("https://www.w3.org", "")


def test_learned_fields_and_a_module_by_name(folder, capsys):
    words = ("--model", "symmetric_nets:scalar", "--learn", "1", "--dependent", "--steps", "5")
    status, out, _ = asked(capsys, *words)
    assert status == 0
    assert "learned data-dependent generator 1" in out
    assert "Learned symmetries" in (folder / "discovery.html").read_text(encoding="utf-8")


def test_a_loss_of_ones_own_data_of_ones_own_and_nothing_to_find(folder, capsys):
    rng = np.random.default_rng(0)
    np.savez(folder / "mine.npz", X=rng.normal(size=(50, 2)), y=rng.normal(size=(50, 1)))
    words = ("--loss", "symmetric_nets.py:own_loss", "--data", "mine.npz", "--near", "0.5")
    status, out, _ = asked(capsys, "--model", "symmetric_nets.py:smooth", *words)
    assert status == 0
    assert "2 parameters have 0 continuous linear symmetries" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--model", "relu"), "expected MODULE:FUNCTION or FILE.py:FUNCTION"),
        (("--model", "nowhere.py:relu"), "there is no file nowhere.py"),
        (("--model", "no_such_module_here:relu"), "No module named 'no_such_module_here'"),
        (("--model", "symmetric_nets.py:rely"), "has no function 'rely'"),
        (("--model", "symmetric_nets.py:broken"), "the function raised RuntimeError: my own mistake"),
        (("--model", "symmetric_nets.py:leaves"), "the function raised SystemExit: 7"),
        (
            ("--model", "symmetric_nets.py:leaving"),
            "the network, on inputs of shape (2, 2), raised SystemExit: 7",
        ),
        (
            ("--model", "symmetric_nets.py:relu", "--loss", "symmetric_nets.py:leaving_loss"),
            "the loss cannot be evaluated on outputs [3, 2] and targets [3, 2]: it raised SystemExit: 7",
        ),
        (
            ("--model", "symmetric_nets.py:relu", "--seed", str(2**70)),
            "expected a number of 0 or more, below 2^62",
        ),
        (("--model", "symmetric_nets.py:relu", "--inputs", "9999999999"), "give the shape of one input"),
        (("--model", "symmetric_nets.py:relu", "--steps", "9999999999"), "1 to 1000000"),
        (("--model", "symmetric_nets.py:relu", "--out", "."), "--out .: this is a folder"),
        (("--model", "symmetric_nets.py:relu", "--near", "nan"), "expected a positive deviation"),
        (("--model", "symmetric_nets.py:relu", "--data", "symmetric_nets.py"), "expected an .npz file"),
        (("--model", "symmetric_nets.py:number"), "expected the function to return an nn.Module, got int"),
        (("--model", "symmetric_nets.py:noisy"), "draws random numbers in eval mode"),
        (("--model", "symmetric_nets.py:rounded"), "changes the loss but has no derivative"),
        (("--model", "symmetric_nets.py:relu", "--loss", "squard"), "unknown loss 'squard'"),
        (
            ("--model", "symmetric_nets.py:relu", "--loss", "symmetric_nets.py:mean_loss"),
            "the loss is not per-sample",
        ),
        (("--model", "symmetric_nets.py:relu", "--inputs", "two"), "expected a shape of positive numbers"),
        (
            ("--model", "symmetric_nets.py:relu", "--inputs", "5"),
            "the network, on inputs of shape (2, 5), raised RuntimeError: mat1 and mat2 shapes",
        ),
        (("--model", "symmetric_nets.py:convolution"), "no linear layer to take the shape"),
        (
            ("--model", "symmetric_nets.py:relu", "--data", "none.npz"),
            "--data none.npz: expected a readable .npz or .npy file",
        ),
        (("--model", "symmetric_nets.py:relu", "--method", "some"), "expected 'auto', 'all' or 'layers'"),
        (("--model", "symmetric_nets.py:large", "--method", "all"), "the limit is"),
        (("--model", "symmetric_nets.py:relu", "--learn", "1000"), "--learn 1000: expected at most 8, one"),
        (("--model", "symmetric_nets.py:meta"), "Linear is on the device meta, where parameters have no"),
        (("--model", "symmetric_nets.py:relu", "--device", "meta"), "No such option"),
        (("--model", "symmetric_nets.py:relu", "--seed", "-1"), "--seed -1: expected a number of 0 or more"),
        (
            ("--model", "symmetric_nets.py:of_two"),
            "expected a function of nothing, or of a seed; it needs a, b",
        ),
        (
            ("--model", "symmetric_nets.py:relu", "--inputs", "2", "--data", "mine.npz"),
            "--inputs and --data: expected one of them; X in the data has the shape of an input",
        ),
        (("--model", "symmetric_nets.py:relu", "--learn", "-1"), "--learn and --steps: expected 0 or more"),
        (
            ("--model", "symmetric_nets.py:relu", "--out", "no/such/page.html"),
            "--out no/such/page.html: there is no folder",
        ),
    ],
)
def test_mistakes_are_one_line_and_status_two(folder, capsys, words, expected):
    status, _, err = asked(capsys, *words)
    assert status == 2
    assert err.startswith("symscope: ")
    assert expected in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (np.zeros((5, 2)), np.zeros((4, 1)), "X and y need as many rows, got 5 and 4"),
        (np.zeros((0, 2)), np.zeros((0, 1)), "the data set has no rows"),
        (np.zeros(()), np.zeros((4, 1)), "expected rows in X and in y, got single numbers"),
        (np.full((5, 2), np.nan), np.zeros((5, 1)), "x: expected finite numbers"),
        (np.array([{"a": 1}]), np.zeros(1), "expected arrays of numbers, got an object array"),
        (np.array(["a", "b"]), np.zeros(2), "expected real numbers in X, got <U1"),
        (np.array([[1.0], [np.inf]]).repeat(2, 1), np.zeros((2, 1)), "x: expected finite numbers"),
        (np.ones((5, 2)), np.full(5, np.nan), "y: expected finite numbers"),
        (np.ones((5, 2), complex), np.zeros(5), "expected real numbers in X, got complex128"),
        (
            np.ones((5, 2)),
            np.zeros((5, 3)),
            "expected targets of the outputs' shape [3, 1], got [3, 3]",
        ),
    ],
)
def test_data_that_cannot_be_used(folder, capsys, x, y, expected):
    np.savez(folder / "mine.npz", X=x, y=y)
    status, _, err = asked(capsys, "--model", "symmetric_nets.py:smooth", "--data", "mine.npz")
    assert status == 2
    assert expected in err


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (POINTS.astype(">f8"), NUMBERS[:, None]),
        (POINTS.astype("f2"), NUMBERS.astype(">f4")),
        ((9 * POINTS).astype(">i4"), np.arange(50, dtype=np.uint16)),
        (POINTS > 0, NUMBERS),
    ],
)
def test_numbers_of_any_kind_and_targets_with_or_without_an_axis(folder, capsys, x, y):
    np.savez(folder / "mine.npz", X=x, y=y)
    words = ("--model", "symmetric_nets.py:regression", "--data", "mine.npz", *CATALOGUE)
    status, out, _ = asked(capsys, *words)
    assert status == 0
    assert "6 parameters: the catalogue alone was tried" in out
    assert "have 2 continuous dimensions and 1 generating permutations" in out


def test_symmetries_are_tested_on_held_out_data(folder, capsys):
    np.savez(folder / "mine.npz", X=POINTS, y=NUMBERS)
    status, out, _ = asked(capsys, "--model", "symmetric_nets.py:regression", "--data", "mine.npz")
    assert status == 0
    assert "6 parameters have 2 continuous (R^2) linear symmetries" in out
    assert "2 of 2 tested ones hold on held-out parameters and data" in out


def test_a_network_without_an_axis_of_outputs(folder, capsys):
    np.savez(folder / "mine.npz", X=POINTS, y=NUMBERS[:, None])
    for data in (("--data", "mine.npz"), ()):
        status, out, _ = asked(capsys, "--model", "symmetric_nets.py:flat", *data)
        assert status == 0
        assert "3 parameters have 0 continuous linear symmetries" in out
    status, _, err = asked(capsys, "--model", "symmetric_nets.py:flat", "--loss", "cross-entropy")
    assert status == 2
    assert "cross-entropy: expected outputs [b, classes]" in err


def test_whole_numbers_are_classes(folder, capsys):
    words = ("--model", "symmetric_nets.py:classifier", "--loss", "cross-entropy", "--data", "mine.npz")
    for y in (np.arange(50.0) % 3, (np.arange(50) % 3).astype(">u2")):
        np.savez(folder / "mine.npz", X=POINTS.astype("f4"), y=y)
        assert asked(capsys, *words, *CATALOGUE)[0] == 0
    np.savez(folder / "mine.npz", X=POINTS.astype("f4"), y=np.arange(50) % 3)
    status, out, _ = asked(capsys, *words)
    assert status == 0
    assert "9 parameters have 0 continuous linear symmetries, 3 translations" in out


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.arange(50) % 3 + 0.5, "expected whole class numbers 0 to 2 for 3 outputs, got 0.5"),
        (np.arange(50) % 3 - 1, "expected whole class numbers 0 to 2 for 3 outputs, got -1"),
        (np.arange(50) // 49 * 3, "expected whole class numbers 0 to 2 for 3 outputs, got 3"),
        (np.eye(3)[np.arange(50) % 3], "got outputs [3, 3] and targets [50, 3]; for one-hot rows use"),
        (np.zeros((50, 1), int), "for a column y[:, 0]"),
    ],
)
def test_numbers_that_are_no_classes(folder, capsys, y, expected):
    np.savez(folder / "mine.npz", X=POINTS, y=y)
    words = ("--model", "symmetric_nets.py:classifier", "--loss", "cross-entropy", "--data", "mine.npz")
    status, _, err = asked(capsys, *words)
    assert status == 2
    assert expected in err


def test_whole_numbers_stay_tokens_where_the_network_looks_them_up(folder, capsys):
    words = ("--model", "symmetric_nets.py:tokens", "--loss", "cross-entropy", "--data", "mine.npz")
    tokens = np.stack([np.arange(50) % 5, np.arange(50) // 10], 1)
    np.savez(folder / "mine.npz", X=tokens.astype(np.uint8), y=np.arange(50) % 2)
    assert asked(capsys, *words, *CATALOGUE)[0] == 0
    np.savez(folder / "mine.npz", X=tokens + 1, y=np.arange(50) % 2)
    status, _, err = asked(capsys, *words)
    assert status == 2
    assert "IndexError: index out of range" in err
    status, _, err = asked(capsys, "--model", "symmetric_nets.py:tokens")
    assert status == 2
    assert "inputs of your own, such as tokens, with --data" in err


@pytest.mark.parametrize("name", ["of_a_seed", "of_a_width_and_a_seed"])
def test_a_function_of_a_seed_is_given_the_seed(folder, capsys, name):
    sizes = {}
    for seed in ("0", "5"):
        status, out, _ = asked(capsys, "--model", f"symmetric_nets.py:{name}", "--seed", seed, *CATALOGUE)
        assert status == 0
        sizes[seed] = int(out.split()[0])
    assert sizes == {"0": 8, "5": 2 if name == "of_a_seed" else 3}


def test_weights_follow_from_the_seed(folder, capsys):
    words = ("--model", "symmetric_nets.py:relu", "--near", "0.5", "--seed", "3")
    assert asked(capsys, *words)[1] == asked(capsys, *words)[1]


def test_a_network_that_leaves_on_data_of_ones_own(folder, capsys):
    np.savez(folder / "mine.npz", X=np.ones((5, 2)), y=np.zeros((5, 1)))
    status, _, err = asked(capsys, "--model", "symmetric_nets.py:leaving", "--data", "mine.npz")
    assert status == 2
    assert (
        "the module cannot be evaluated on inputs of shape [3, 2], torch.float64: it raised SystemExit: 7"
        in err
    )


def test_a_network_that_fails_late(folder, capsys):
    status, _, err = asked(capsys, "--model", "symmetric_nets.py:late")
    assert status == 2
    assert err.splitlines()[-1].startswith(
        "symscope: your code raised GeneratorExit: late (symmetric_nets.py"
    )


def test_one_row_of_data_is_not_said_to_be_held_out(folder, capsys):
    np.savez(folder / "one_row.npz", X=np.ones((1, 2)), y=np.zeros((1, 2)))
    status, out, _ = asked(capsys, "--model", "symmetric_nets.py:relu", "--data", "one_row.npz")
    assert status == 0
    assert "tested ones hold on held-out parameters. " in out
    assert "held-out parameters and data" not in (folder / "discovery.html").read_text(encoding="utf-8")


def test_beyond_the_limit_the_catalogue_alone(folder, capsys):
    words = ("--model", "symmetric_nets.py:relu", "--method", "none", "--loss", "mse")
    status, out, _ = asked(capsys, *words)
    assert status == 0
    assert "8 parameters: the catalogue alone was tried" in out
    assert "have 2 continuous dimensions and 1 generating permutations" in out
    assert "No exact search was asked for" in (folder / "discovery.html").read_text(encoding="utf-8")
