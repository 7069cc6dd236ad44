"""Networks trained on pairs: against a plain training loop, and claims that can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample
from symscope.kernels import infinite_width
from symscope.networks.architectures import mlp
from symscope.numerics._randomness import seeded
from symscope.runs import ClaimKind, RunRequest, Verdict, Workers, run_experiments
from symscope_papers.spectral.pairs.orbits import digit_pairs, rotated
from symscope_papers.spectral.symmetrised import symmetrised_error
from symscope_papers.spectral.trained.claims import judge_claims
from symscope_papers.spectral.trained.config import Trained
from tests.tolerances import TRAINED_SINGLE

SMALL = ["pairs=7", "angles=3,6", "width=24", "epochs=40", "tolerance=1e-3", "at_once=4"]  # two cells each
RUNS = "runs=pytorch-adam,pytorch-sgd,ntk-adam,authors-adam"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    wanted = RunRequest.of("spectral/trained", changes=[*SMALL, RUNS], seed=2, device="cpu")
    [outcome] = run_experiments([wanted], tmp_path_factory.mktemp("runs"), Workers(processes=0))
    return outcome, outcome.tables(), wanted.config


@pytest.mark.parametrize("name", ["pytorch-adam", "pytorch-sgd", "ntk-adam", "authors-adam"])
def test_each_network_is_what_a_plain_loop_trains(made, name):
    """Pair 5, in the second cell: the second network, which has not seen the second digit upright."""
    _, tables, config = made
    row = tables["pairs"].query(f"run == '{name}' and angles == 3 and pair == 5").iloc[0]
    data = mnist_sample()
    points = rotated(data.x[digit_pairs(data, 7, seed=2)[5]], 3, centred=False).flatten(0, 1).float()
    labels = torch.tensor([1.0, 1, 1, -1, -1, -1])
    seed = int(torch.randint(2**31, (7, 2), generator=seeded(2, 3))[5, 1])
    net = config.network(name)(seed)
    kind = torch.optim.Adam(net.parameters(), lr=1e-3)
    if name.endswith("sgd"):
        kind = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    seen = [0, 1, 2, 4, 5]
    for step in range(41):
        loss = (net(points[seen])[:, 0] - labels[seen]).square().mean()
        if step == 40 or (step % 10 == 0 and float(loss.detach()) <= 1e-3):
            break
        kind.zero_grad()
        loss.backward()
        kind.step()
    with torch.no_grad():
        error = 1 + float(net(points[3:4]))  # the label is -1
    assert row["trained_b"] == pytest.approx(error, abs=TRAINED_SINGLE)
    assert row["trained"] == pytest.approx((row["trained_a"] + row["trained_b"]) / 2)
    assert row["epochs"] >= step


def test_theory_is_that_of_the_spectral_package(made):
    _, tables, _ = made
    row = tables["pairs"].query("run == 'pytorch-sgd' and angles == 6 and pair == 3").iloc[0]
    data = mnist_sample()
    points = rotated(data.x[digit_pairs(data, 7, seed=2)[3]], 6, centred=False).transpose(0, 1).flatten(0, 1)
    kernel = infinite_width(mlp((784, 24, 1)), parameterisation="standard").ntk
    assert row["own_exact"] == pytest.approx(float(symmetrised_error(kernel(points), 0.0, 0)), rel=1e-7)
    ntk = tables["pairs"].query("run == 'ntk-adam' and angles == 6 and pair == 3").iloc[0]
    assert ntk["own_exact"] == pytest.approx(ntk["exact"])
    assert row["own_exact"] != pytest.approx(row["exact"], rel=1e-3)


def test_every_pair_is_trained_once_in_every_run(made):
    outcome, tables, config = made
    assert outcome.failed == 0
    counts = tables["pairs"].groupby(["run", "angles"])["pair"].agg(lambda pairs: sorted(pairs))
    assert all(pairs == list(range(7)) for pairs in counts)
    assert len(counts) == 8
    kinds = [claim.kind for claim in outcome.claims]
    assert [kinds.count(kind) for kind in (ClaimKind.STATED, ClaimKind.QUANTIFIED, ClaimKind.BEYOND)] == [
        4,
        8,
        8,
    ]
    assert len(list((outcome.folder / "figures").glob("*.svg"))) == 6
    assert tables["pairs"]["epochs"].max() <= config.epochs


def stated(config, table):
    return [c.verdict for c in judge_claims(config, {"pairs": table}) if c.kind is ClaimKind.STATED]


def test_claims_follow_from_the_numbers(made):
    """Only Adam is the paper's: gradient descent and PyTorch's parameterisation get no verdict."""
    _, tables, config = made
    table = tables["pairs"].assign(trained=lambda t: t["spectral"] - 0.01 * t["angles"])
    assert stated(config, table) == [Verdict.HOLDS] * 4
    table = table.assign(trained=lambda t: 2 - t["spectral"] + 0.1 * t["angles"])
    assert stated(config, table) == [Verdict.CONTRADICTED] * 4
    assert stated(config, table[table["angles"] == 6])[1::2] == [Verdict.NOT_CHECKED] * 2
    assert stated(replace(config, runs=("pytorch-adam", "pytorch-sgd")), table) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": 2}, "pairs: expected 3 or more"),
        ({"angles": (4, 4)}, "angles: expected .* different values"),
        (
            {"runs": ("pytorch-adan",)},
            "runs: unknown 'pytorch-adan'; did you mean 'pytorch-adam'",
        ),
        ({"runs": ()}, "runs: expected at least one"),
        ({"width": 0}, "width: expected 1 or more"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(Trained(), **change)
