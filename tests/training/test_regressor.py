"""Networks that return numbers: against a plain loop, unseen points, resumed runs, and what is refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.networks.architectures import mlp
from symscope.training import Checkpoint, MiniBatch, Optimiser, StoredPoints, train_regressors
from symscope.training._epoch_draws import shuffle
from tests.tolerances import STACKED
from tests.training.problems import EPOCHS, masks, pool


def two_numbers(seed):
    return mlp((5, 6, 2), seed=seed)


def numbers(count):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(count, 2, generator=generator, dtype=torch.float64)


def test_together_and_by_hand_are_the_same():
    x, _ = pool()
    y, seen = numbers(len(x)), masks()
    together = train_regressors(two_numbers, StoredPoints(x), y, seen, {"rest": ~seen}, EPOCHS, [5, 0, 8])
    for i, seed in enumerate((5, 0, 8)):
        net = two_numbers(seed)
        steps = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.7, 0.9))
        for epoch in range(EPOCHS.epochs):
            order = shuffle([seen[i].nonzero()[:, 0]], EPOCHS.batch, (seed,), epoch).orders[0]
            for s in range(4):  # 30 points in 4 steps
                chosen = order[s * 30 // 4 : (s + 1) * 30 // 4]
                steps.zero_grad()
                nn.functional.mse_loss(net(x[chosen]), y[chosen]).backward()
                steps.step()
        for name, weight in net.named_parameters():
            torch.testing.assert_close(
                together.stack.weights[name][i], weight.detach(), rtol=STACKED, atol=STACKED
            )
        with torch.no_grad():
            error = nn.functional.mse_loss(net(x[~seen[i]]), y[~seen[i]])
        assert float(together.errors["rest"][-1, i]) == pytest.approx(float(error), rel=STACKED)


def test_a_resumed_run_is_the_same(tmp_path):
    x, _ = pool()
    y, seen = numbers(len(x)), masks()
    kept = Checkpoint(tmp_path / "state.pt", every=1)

    def stops(what, epoch, epochs):
        if epoch == 2:
            raise KeyboardInterrupt

    arguments = (two_numbers, StoredPoints(x), y, seen, {"rest": ~seen}, EPOCHS, [5, 0, 8])
    with pytest.raises(KeyboardInterrupt):
        train_regressors(*arguments, checkpoint=kept, progress=stops)
    resumed = train_regressors(*arguments, checkpoint=kept)
    whole = train_regressors(*arguments)
    assert torch.equal(resumed.losses, whole.losses)
    assert torch.equal(resumed.errors["rest"], whole.errors["rest"])


def test_what_does_not_fit_is_refused():
    x, _ = pool()
    y, seen = numbers(len(x)), masks()
    settings = MiniBatch(2, 8, Optimiser("sgd", 0.1))

    def trained(targets, builder=two_numbers, how=settings):
        return train_regressors(builder, StoredPoints(x), targets, seen, {}, how, [1, 2, 3])

    with pytest.raises(InputError, match=r"expected a network with 3 outputs, .* got outputs \(2,\)"):
        trained(torch.cat([y, y[:, :1]], 1))
    with pytest.raises(InputError, match="targets: expected one per point"):
        trained(y[1:])
    with pytest.raises(InputError, match="targets: expected finite numbers"):
        trained(torch.where(y == y[3, 1], torch.nan, y))
    with pytest.raises(InputError, match=r"the loss is (inf|nan)"):
        trained(1e200 * y)
