"""A training that is killed in the middle: `-m tests.training.interrupted FILE EPOCH`."""

from __future__ import annotations

import os
import signal
import sys

import torch

from symscope.training import Checkpoint, StoredPoints, train_networks
from tests.training.problems import EPOCHS, dropping, masks, pool


def killed_at(last: int):
    def progress(what: str, epoch: int, epochs: int) -> None:
        if epoch >= last:
            os.kill(os.getpid(), signal.SIGKILL)

    return progress


def classifiers(path: str | None, progress=None):
    x, labels = pool()
    checkpoint = None if path is None else Checkpoint(path, every=2)
    seen = masks()
    return train_networks(
        dropping,
        StoredPoints(x),
        labels,
        seen,
        {"train": seen, "rest": ~seen},
        EPOCHS,
        [5, 6, 7],
        checkpoint=checkpoint,
        progress=progress,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    path, epoch = sys.argv[1:]
    classifiers(path, killed_at(int(epoch)))
