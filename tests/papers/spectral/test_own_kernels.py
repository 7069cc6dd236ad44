"""Kernels of the networks of Fig. 1, each start alone and averaged."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample
from symscope.networks.architectures import digit_mlp
from symscope.runs._definition import CellContext
from symscope_papers.spectral.own_kernels import own_kernels as experiment
from symscope_papers.spectral.own_kernels.config import OwnKernels
from symscope_papers.spectral.own_kernels.measure import RIDGE
from symscope_papers.spectral.pairs.errors import pair_errors
from symscope_papers.spectral.pairs.orbits import digit_pairs, rotated

SMALL = OwnKernels(networks=("mlp",), angles=(2,), pairs=3, starts=3)
HERE = CellContext(seed=7, run_seed=5, device="cpu")


def jacobian_gram(seed, points):
    """The tangent kernel from gradients of every output, one by one."""
    net = digit_mlp(seed, torch.float64).eval()
    rows = []
    for x in points:
        each = [torch.autograd.grad(o, list(net.parameters()), retain_graph=True) for o in net(x[None])[0]]
        rows.append(torch.stack([torch.cat([g.flatten() for g in one]) for one in each]))
    return torch.einsum("iop,jop->ij", *[torch.stack(rows)] * 2) / 10


def test_means_are_of_the_kernels_of_the_starts():
    [cell] = experiment.cells(SMALL)
    table = pd.DataFrame({**cell, **row} for row in experiment.measure(SMALL, cell, HERE)["pairs"])
    assert sorted(table[table["start"] < 0]["averaged"].unique()) == [1, 2, 3]
    data = mnist_sample()
    chosen = digit_pairs(data, 3, HERE.run_seed)
    points = rotated(data.x[chosen], 2, centred=False)[0].flatten(0, 1).unflatten(-1, (1, 28, 28))
    grams = [jacobian_gram(7 + start, points) for start in range(2)]
    for gram, start, averaged in ((grams[1], 1, 1), (sum(grams) / 2, -1, 2)):
        errors = pair_errors(gram[None], RIDGE)
        row = table[(table["start"] == start) & (table["averaged"] == averaged) & (table["pair"] == 0)]
        assert float(row["exact"].iloc[0]) == pytest.approx(float(errors.exact), rel=1e-6)
        assert float(row["spectral"].iloc[0]) == pytest.approx(float(errors.spectral), rel=1e-6)
    claims = experiment.claims(SMALL, {"pairs": table})
    assert [claim.verdict for claim in claims] == [None] * 3
    means = table[(table["start"] < 0) & (table["averaged"] == 3)]
    assert claims[1].measured == pytest.approx(means["exact"].mean())
    assert [plot.name for plot in experiment.plot(SMALL, {"pairs": table})] == ["own-kernels"]


def test_of_a_run_in_part_what_is_there_is_measured_and_drawn():
    [cell] = experiment.cells(SMALL)
    table = pd.DataFrame({**cell, **row} for row in experiment.measure(SMALL, cell, HERE)["pairs"])
    whole = OwnKernels(networks=("mlp", "vit"), angles=(2, 4), pairs=3, starts=3)
    claims = experiment.claims(whole, {"pairs": table})
    assert claims == experiment.claims(SMALL, {"pairs": table})
    [plot] = experiment.plot(whole, {"pairs": table})
    left, right = plot.figure.axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["1", "2", "3"]
    assert len(left.get_lines()) == 1
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["MLP", "ViT"]


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="networks: unknown"):
        OwnKernels(networks=("resnet",))
    with pytest.raises(InputError, match="starts: expected 2 or more"):
        OwnKernels(starts=1)
