from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.errors import InputError
from symscope.networks.architectures import mlp, pair_mlp
from symscope.training import Optimiser
from symscope_papers.spectral.trained.full_batch import FullBatch, optimiser_of_copies, train_copies
from tests.tolerances import STACKED
from tests.training.problems import pairs, small

LONG = FullBatch(200, Optimiser("adam", 0.02), tolerance=5e-3, look_every=10)


def plainly_trained(net: nn.Module, x, y, steps: torch.optim.Optimizer, epochs: int) -> nn.Module:
    for _ in range(epochs):
        steps.zero_grad()
        (net(x)[:, 0] - y).square().mean().backward()
        steps.step()
    return net


def test_copies_together_are_copies_by_themselves():
    x, y = pairs()
    for optimiser, theirs in (
        (Optimiser("adam", 1e-2), lambda p: torch.optim.Adam(p, lr=1e-2)),
        (Optimiser("sgd", 5e-2), lambda p: torch.optim.SGD(p, lr=5e-2)),
        (Optimiser("sgd", 1e-2, momentum=0.9), lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9)),
    ):
        result = train_copies(small, x, y, FullBatch(60, optimiser), seeds=[5, 0, 8])
        for i, seed in enumerate((5, 0, 8)):
            net = small(seed)
            plainly_trained(net, x[i], y[i], theirs(net.parameters()), 60)
            for name, weight in net.named_parameters():
                torch.testing.assert_close(
                    result.stack.weights[name][i], weight.detach(), rtol=STACKED, atol=STACKED
                )
            loss = (net(x[i])[:, 0] - y[i]).square().mean()
            torch.testing.assert_close(result.losses[i], loss.detach(), rtol=STACKED, atol=STACKED)
        assert result.epochs.tolist() == [60, 60, 60]


@given(seed=st.integers(0, 50), epochs=st.integers(1, 30))
def test_gradient_descent_of_a_linear_model_has_a_closed_form(seed, epochs):
    """w_t = w* + (I - 2 rate X'X / n)^t (w_0 - w*)."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 8, 3, dtype=torch.float64, generator=generator)
    y = torch.randn(2, 8, dtype=torch.float64, generator=generator)

    def line(own: int) -> nn.Module:
        return mlp((3, 1), last_bias=False, seed=own)

    result = train_copies(line, x, y, FullBatch(epochs, Optimiser("sgd", 0.05)), seeds=[seed, seed + 1])
    for i in range(2):
        start = line(seed + i)[1].weight.detach()[0]
        best = torch.linalg.lstsq(x[i], y[i][:, None]).solution[:, 0]
        step = torch.eye(3, dtype=torch.float64) - 2 * 0.05 * x[i].T @ x[i] / 8
        expected = best + torch.linalg.matrix_power(step, epochs) @ (start - best)
        torch.testing.assert_close(
            result.stack.weights["1.weight"][i, 0], expected, rtol=STACKED, atol=STACKED
        )


def test_a_copy_that_has_converged_stops_and_the_others_do_not_notice():
    x, y = pairs()
    together = train_copies(small, x, y, LONG, [5, 6, 7])
    assert together.converged.all()
    assert len(set(together.epochs.tolist())) > 1  # or the test would show nothing
    assert together.epochs.max() < LONG.epochs
    for i in range(3):
        alone = train_copies(small, x[i : i + 1], y[i : i + 1], LONG, [5 + i])
        assert alone.epochs[0] == together.epochs[i]
        torch.testing.assert_close(alone.losses[0], together.losses[i], rtol=STACKED, atol=STACKED)
        for name, weight in alone.stack.weights.items():
            torch.testing.assert_close(weight[0], together.stack.weights[name][i], rtol=STACKED, atol=STACKED)
    at_the_end = (together.stack.outputs(x)[..., 0] - y).square().mean(1)
    torch.testing.assert_close(together.losses, at_the_end, rtol=STACKED, atol=STACKED)
    for i, epochs in enumerate(together.epochs.tolist()):  # it had not converged one look before
        shorter = replace(LONG, epochs=epochs - LONG.look_every)
        assert train_copies(small, x[i : i + 1], y[i : i + 1], shorter, [5 + i]).losses[0] > LONG.tolerance


def test_the_paper_s_network_learns_a_pair():
    x = torch.randn(2, 8, 784, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = x / x.norm(dim=-1, keepdim=True)
    y = torch.tensor([1.0, -1.0] * 4, dtype=torch.float64).expand(2, 8)
    settings = FullBatch(300, Optimiser("adam", 1e-2), tolerance=1e-3)
    result = train_copies(lambda seed: pair_mlp(width=64, seed=seed), x, y, settings, [0, 1])
    assert result.converged.all()
    assert (result.stack.outputs(x)[..., 0].sign() == y).all()


def test_the_seed_decides():
    x, y = pairs()
    first = train_copies(small, x, y, LONG, [5, 6, 7]).losses
    assert torch.equal(first, train_copies(small, x, y, LONG, [5, 6, 7]).losses)
    assert not torch.equal(first, train_copies(small, x, y, LONG, [5, 6, 8]).losses)


@pytest.mark.parametrize("chosen", [Optimiser("adam", 0.1), Optimiser("sgd", 0.1, momentum=0.9)])
def test_copies_that_go_on_keep_their_past(chosen):
    def three_steps(w, steps):
        for _ in range(3):
            steps.zero_grad()
            (w**2 * torch.arange(1, w.shape[-1] + 1)).sum().backward()
            steps.step()

    start = torch.tensor([[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]], dtype=torch.float64)
    whole = start.clone().requires_grad_()
    steps = chosen.build([whole])
    three_steps(whole, steps)
    kept = torch.tensor([True, False, True])
    some = whole.detach()[kept].requires_grad_()
    three_steps(some, optimiser_of_copies(steps, chosen, [whole], [some], kept))
    three_steps(whole, steps)
    assert torch.equal(some, whole[kept])


def test_a_loss_that_runs_away_names_its_copy():
    x, y = pairs()
    x = x.clone()
    x[1] *= 1e3
    with pytest.raises(
        InputError, match=r"copy 1 \(seed 8\): the loss is (nan|inf) after 60 epochs.*learning rate \(0.1\)"
    ):
        train_copies(small, x, y, FullBatch(60, Optimiser("sgd", 0.1), look_every=60), [5, 8, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y, s: (x[:, :0], y[:, :0], s), "at least one data set of at least one point"),
        (lambda x, y, s: (x, y[:2], s), r"y: expected one value per point, \[copies, n\] = \(3, 6\)"),
        (lambda x, y, s: (x, y, s[:2]), "seeds: expected one per data set, 3, got 2"),
        (lambda x, y, s: (x / 0, y, s), "x: expected finite numbers"),
        (lambda x, y, s: (x, y * float("nan"), s), "y: expected finite numbers"),
        (lambda x, y, s: (x[..., :3], y, s), r"does not take inputs of shape \(3,\)"),
    ],
)
def test_bad_data(change, message):
    x, y, seeds = change(*pairs(), [0, 1, 2])
    with pytest.raises(InputError, match=message):
        train_copies(small, x, y, FullBatch(2, Optimiser("sgd", 0.1)), seeds)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda o: FullBatch(0, o), "epochs: expected an integer of at least 1"),
        (lambda o: FullBatch(1, o, look_every=0), "look_every: expected"),
        (lambda o: FullBatch(1, o, tolerance=-1.0), "tolerance: expected 0 or more"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(InputError, match=message):
        make(Optimiser("sgd", 0.1))


def test_networks_of_several_outputs_are_refused():
    with pytest.raises(InputError, match=r"networks of one output, got outputs of shape \(2,\)"):
        train_copies(lambda seed: mlp((4, 2), seed=seed), *pairs(), LONG, [0, 1, 2])
