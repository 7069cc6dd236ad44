"""Fig. 5 at a small size."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.kernels import weights_kernel
from symscope.runs import Verdict
from symscope_papers.linear.ewk_spectrum import ewk
from symscope_papers.linear.ewk_spectrum.config import Ewk
from symscope_papers.linear.ewk_spectrum.measure import counted_zeros, network, rescalings
from tests.papers.linear.runs import verdicts
from tests.papers.linear.tables import tables_of_cells

SMALL = Ewk(width=12, points=400, networks=2)


@pytest.fixture(scope="module")
def tables():
    return tables_of_cells(ewk, SMALL)


def test_rows_are_what_they_say(tables):
    summary, values = tables["summary"], tables["eigenvalues"]
    assert len(values) == 8 * 61
    row = summary[(summary["activation"] == "relu") & (summary["start"] == "normal")].iloc[1]
    net, x = network(12, "relu", "normal", 1), permuted_cube(400, 1).features
    assert row["counted_zeros"] == counted_zeros(net, x)
    mine = values[
        (values["activation"] == "relu") & (values["start"] == "normal") & (values["network"] == 1)
    ]["value"]
    assert row["zeros"] == (mine == 0).sum() >= 12
    assert row["small"] == pytest.approx((mine < 0.2).mean())


@pytest.mark.parametrize(
    ("biases", "expected"),
    # 3 inputs and 1 output, 16 weights; edges inside the cube count 4 each, all-active units 4 together
    [((-0.4, -0.6, -0.5), 3), ((-0.4, 1.0, 1.0), 8), ((-0.4, -9.0, -0.5), 7), ((-0.4, 1.0, -9.0), 8)],
)
def test_zeros_counted_from_the_units_are_the_zeros_of_the_kernel(biases, expected):
    net, x = network(3, "relu", "default", 0), permuted_cube(500, 0).features
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0, 0.2, -0.1], [0.1, 0.9, 0.2], [0.3, 0.1, 0.8]]))
        net[0].bias.copy_(torch.tensor(biases))
    assert counted_zeros(net, x) == expected
    dense = weights_kernel(net, x)
    assert 16 - int(torch.linalg.matrix_rank(dense, hermitian=True)) == expected


def test_rescalings_leave_the_function_alone_to_first_order():
    net, x = network(5, "relu", "default", 3), permuted_cube(20, 0).features
    for unit, direction in enumerate(rescalings(net)):
        assert int((direction != 0).sum()) == 5
        moved = network(5, "relu", "default", 3)
        flat = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
        torch.nn.utils.vector_to_parameters(flat + 1e-6 * direction, moved.parameters())
        gap = (moved(x) - net(x)).abs().max().detach()
        assert float(gap) < 1e-10, unit


def test_claims_follow_the_numbers(tables):
    # with 400 points a corner may hold fewer than the four points that its functions need
    summary = tables["summary"].assign(weights=501)
    assert (summary["zeros"] - summary["counted_zeros"]).abs().max() <= 4
    unchecked = verdicts(ewk.claims(SMALL, tables))
    assert unchecked == [Verdict.NOT_CHECKED, Verdict.NOT_CHECKED, Verdict.HOLDS, Verdict.NOT_CHECKED]
    good = summary.assign(small=1 / 3, zero_share=0.02)
    assert verdicts(ewk.claims(Ewk(), {"summary": good})) == [Verdict.HOLDS] * 4
    bad = summary.assign(small=0.6, zero_share=0.5, weights=500)
    assert verdicts(ewk.claims(Ewk(epochs=2000), {"summary": bad})) == [
        *[Verdict.NUMBER_DIFFERS] * 2,
        *[Verdict.CONTRADICTED] * 2,
    ]


def test_figure(tables):
    [plot] = ewk.plot(SMALL, tables)
    assert len([axes for axes in plot.figure.axes if axes.get_visible()]) == 4


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="expected 1 or more"):
        replace(SMALL, points=0)
    with pytest.raises(InputError, match="activations: expected 'relu'"):
        replace(SMALL, activations=("tanh",))
    with pytest.raises(InputError, match="starts: unknown 'zero'"):
        replace(SMALL, starts=("default", "zero"))
    with pytest.raises(InputError, match="remaining share"):
        replace(SMALL, remaining=2.0)
