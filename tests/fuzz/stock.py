"""Good files that the areas damage: small, real, made once; every input gets copies of its own."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from tests.fuzz.outcome import Kind, of_command
from tests.runs.program import TOY

CODE = """
import torch
from torch import nn


def build(seed=0):
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.ReLU(), nn.Linear(4, 2))


def small():
    return nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))


def data():
    return [(torch.rand(6, 6), k % 2) for k in range(8)]


def turn(g, x):
    return x.roll(int(g), -1)


def squared(outputs, targets):
    return (outputs - targets).square().sum(-1)
"""
NETWORK = nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.ReLU(), nn.Linear(4, 2))
RUN = ("reproduce", "toy/matrices", "--module", TOY, "--device", "cpu", "--workers", "0", "--set", "cells=2")


def make(folder: Path) -> None:
    """Write every good file, and two run folders made by a real run."""
    numbers = np.random.default_rng(0)
    images, labels = numbers.random((8, 6, 6)), np.arange(8) % 2
    np.savez(folder / "tiny.npz", X=images, y=labels)
    np.savez_compressed(folder / "words.npz", X=images, y=np.array(["cat", "dog"] * 4))
    np.savez(folder / "numbers.npz", X=images, y=images.sum((1, 2)))
    np.savez(folder / "pairs.npz", X=images[:, 0, :2], y=images[:, 0, :1])
    np.save(folder / "x.npy", images)
    np.save(folder / "y.npy", labels)
    for label in ("cats", "dogs"):
        (folder / "images" / label).mkdir(parents=True)
        for k in range(2):
            pixels = (255 * numbers.random((6, 6))).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "images" / label / f"{k}.png")
    idx(folder / "idx", (255 * images).astype(np.uint8), labels.astype(np.uint8))
    torch.save(NETWORK.state_dict(), folder / "weights.pt")
    (folder / "nets.py").write_text(CODE)
    for seed in ("0", "1"):
        outcome = of_command([*RUN, "--seed", seed, "--out", str(folder / "runs")])
        assert outcome.kind is Kind.ACCEPTED, outcome.detail


def idx(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """MNIST's four files, one of them compressed."""
    folder.mkdir()
    for part in ("train", "t10k"):
        head = b"\0\0\x08\x03" + b"".join(side.to_bytes(4, "big") for side in images.shape)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        body = b"\0\0\x08\x01" + len(labels).to_bytes(4, "big") + labels.tobytes()
        if part == "train":
            (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(body, mtime=0))
        else:
            (folder / f"{part}-labels-idx1-ubyte").write_bytes(body)


def take(stock: Path, folder: Path, *names: str) -> None:
    """Copies of good files, to be damaged at will."""
    for name in names:
        source, target = stock / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)


def remove(path: Path) -> None:
    """Whatever is there is gone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
