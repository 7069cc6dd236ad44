"""The Lightning callback, with the real package where it is installed."""

from __future__ import annotations

import importlib.util

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.linear._lightning_callback import lightning_callback
from symscope.linear.tracker import AsymmetryTracker

here = importlib.util.find_spec("lightning") is not None or importlib.util.find_spec("pytorch_lightning")


@pytest.mark.skipif(bool(here), reason="Lightning is installed")
def test_it_says_what_is_missing():
    toy = permuted_cube(3, 0)
    with pytest.raises(InputError, match="Lightning is not installed: pip install lightning"):
        lightning_callback(toy.features, toy.group)


def test_unknown_options():
    toy = permuted_cube(3, 0)
    with pytest.raises(InputError, match=r"expected options among .*, got start"):
        lightning_callback(toy.features, toy.group, start=3)


@pytest.mark.filterwarnings("ignore")  # Lightning's own advice about workers, loggers and deprecations
def test_a_trainer_records_what_a_plain_loop_records(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    toy = permuted_cube(8, 0)
    x, y = toy.features, toy.targets[:, None]

    def fresh():
        with torch.random.fork_rng():
            torch.manual_seed(3)
            return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()

    class Regression(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = fresh()

        def forward(self, z):
            return self.net(z)

        def training_step(self, batch, _):
            return nn.functional.mse_loss(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    callback = lightning_callback(x, toy.group, every=2)
    trainer = lightning.Trainer(
        max_epochs=3,
        callbacks=[callback],
        accelerator="cpu",
        accumulate_grad_batches=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    halves = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=2)
    trainer.fit(Regression(), halves)  # 4 batches an epoch, 2 optimiser steps

    net = fresh()
    plain = AsymmetryTracker(net, x, toy.group, every=2)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        for part, target in zip(x.split(4), y.split(4), strict=True):
            optimiser.zero_grad()
            nn.functional.mse_loss(net(part), target).backward()
            optimiser.step()
            plain.record()
    assert [r.step for r in callback.tracker.records] == [0, 2, 4, 6]
    for ours, theirs in zip(plain.records, callback.tracker.records, strict=True):
        assert theirs.asymmetry == pytest.approx(ours.asymmetry, rel=1e-9)
    assert float(trainer.callback_metrics["asymmetry"]) == pytest.approx(
        callback.tracker.records[-1].asymmetry, rel=1e-5
    )
