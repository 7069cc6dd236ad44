"""A training that is killed in the middle: `-m tests.training.interrupted copies|classifiers FILE EPOCH`."""

from __future__ import annotations

import os
import signal
import sys

import torch

from symscope.training import Checkpoint, StoredPoints, train_classifiers, train_copies
from tests.training.problems import EPOCHS, LONG, dropping, masks, pairs, pool, small


def killed_at(last: int):
    def progress(what: str, epoch: int, epochs: int) -> None:
        if epoch >= last:
            os.kill(os.getpid(), signal.SIGKILL)

    return progress


def copies(path: str | None, progress=None):
    x, y = pairs()
    checkpoint = None if path is None else Checkpoint(path, every=7)
    return train_copies(small, x, y, LONG, [5, 6, 7], checkpoint=checkpoint, progress=progress)


def classifiers(path: str | None, progress=None):
    x, labels = pool()
    checkpoint = None if path is None else Checkpoint(path, every=2)
    seen = masks()
    return train_classifiers(
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
    kind, path, epoch = sys.argv[1:]
    {"copies": copies, "classifiers": classifiers}[kind](path, killed_at(int(epoch)))
