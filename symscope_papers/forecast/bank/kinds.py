"""Series, molecules and graphs of the bank: made here, or read from files that `export` wrote."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.data import LabelledData
from symscope.errors import InputError
from symscope.numerics import check_count, seeded

PULSES = ("bump", "step", "ramp", "two bumps", "oscillation")
LENGTH = 64
ONSET, WIDTH = 12.0, 16.0  # moments: where a pulse begins, and how long it is
EARLY_OR_LATE = 1.5  # standard deviation of where it begins, in moments
HISS = 0.3  # standard deviation of the noise at each moment

TEMPLATES = ("ring", "star", "two cliques", "ladder", "tree")
NODES = 8
REWIRED = 0.1  # share of pairs of nodes whose edge is added, or taken away
BLUR = 0.1  # standard deviation of the noise of each pair's weight, so that no two graphs are the same

EXPORTED = ("italy", "rings", "handed")


def pulse_series(per_class: int, seed: int) -> LabelledData:
    """Series of one channel with one pulse at about the same time, in noise: its form is the class.

    A bump, a step, a ramp, two bumps or an oscillation, of 16 moments from about the 12th of 64 on, 0.8 to
    1.2 high; noise of 0.3 at each moment. When a pulse comes tells nothing of its form, but it comes early.

    Args:
        per_class: Series of each class.
        seed: Seed for drawing samples.

    Returns:
        Inputs `[n, 1, 64]`.

    Raises:
        InputError: No series.

    >>> pulse_series(3, seed=0).x.shape
    torch.Size([15, 1, 64])
    """
    per_class, generator = check_count("per_class", per_class), seeded(seed, 18)
    count = per_class * len(PULSES)
    onset = ONSET + EARLY_OR_LATE * torch.randn(count, 1, generator=generator, dtype=torch.float64)
    t = (torch.arange(LENGTH, dtype=torch.float64) - onset) / WIDTH  # 0 to 1 within the pulse
    labels = torch.arange(len(PULSES)).repeat_interleave(per_class)
    clean = torch.cat([_pulse(kind, t[labels == k]) for k, kind in enumerate(PULSES)])
    height = 0.8 + 0.4 * torch.rand(count, 1, generator=generator, dtype=torch.float64)
    noise = HISS * torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    x = (height * clean + noise)[:, None]
    return LabelledData(x, labels, "pulses", f"pulse_series({per_class}, {seed})")


def _pulse(kind: str, t: Float64[Tensor, "n length"]) -> Float64[Tensor, "n length"]:
    inside = ((t >= 0) & (t < 1)).double()
    if kind == "bump":
        return inside * (math.pi * t).sin() ** 2
    if kind == "step":
        return inside
    if kind == "ramp":
        return inside * t
    if kind == "two bumps":
        return inside * (2 * math.pi * t).sin() ** 2
    return inside * (4 * math.pi * t).sin()


def template_graphs(per_class: int, seed: int) -> LabelledData:
    """Graphs of eight nodes near a template whose nodes are numbered in its own order: which is the class.

    A ring, a star around node 0, two cliques of four, a ladder of two rows, or a binary tree; every pair of
    nodes has its edge changed with a chance of 0.1, and noise of 0.1 on its weight. No renumbering changes
    which template a graph is near.

    Args:
        per_class: Graphs of each class.
        seed: Seed for drawing samples.

    Returns:
        Adjacency matrices `[n, 8, 8]`.

    Raises:
        InputError: No graphs.

    >>> template_graphs(3, seed=0).x.shape
    torch.Size([15, 8, 8])
    """
    per_class, generator = check_count("per_class", per_class), seeded(seed, 19)
    clean = torch.stack([template_adjacency(kind) for kind in TEMPLATES]).repeat_interleave(per_class, 0)
    changed = (torch.rand(clean.shape, generator=generator, dtype=torch.float64) < REWIRED).double().triu(1)
    noise = BLUR * torch.randn(clean.shape, generator=generator, dtype=torch.float64).triu(1)
    x = (clean - changed - changed.mT).abs() + noise + noise.mT
    labels = torch.arange(len(TEMPLATES)).repeat_interleave(per_class)
    return LabelledData(x, labels, "graphs", f"template_graphs({per_class}, {seed})")


def template_adjacency(kind: str) -> Float64[Tensor, "8 8"]:
    """The adjacency matrix of a template.

    >>> template_adjacency("star").sum(1).tolist()
    [7.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    nodes = range(NODES)
    edges = {
        "ring": [(i, (i + 1) % NODES) for i in nodes],
        "star": [(0, i) for i in nodes[1:]],
        "two cliques": [(i, j) for i in nodes for j in range(i + 1, NODES) if i // 4 == j // 4],
        "ladder": [(i, i + 1) for i in nodes[:-1] if i != 3] + [(i, i + 4) for i in range(4)],
        "tree": [((i - 1) // 2, i) for i in nodes[1:]],
    }[kind]
    matrix = torch.zeros(NODES, NODES, dtype=torch.float64)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return matrix


def exported_data(name: str, folder: str) -> LabelledData:
    """Samples `X` and classes `y` of a file that `export` wrote.

    Args:
        name: One of `EXPORTED`.
        folder: Folder of the file.

    Raises:
        InputError: A file that is not there.
    """
    path = Path(folder, f"{name}.npz")
    if not path.is_file():
        raise InputError(
            f"{name}: expected a folder with {path.name}, there is no {path}; `python -m "
            "symscope_papers.forecast.bank.export FOLDER` writes one."
        )
    with np.load(path, allow_pickle=False) as file:
        x, labels = torch.from_numpy(file["X"]).double(), torch.from_numpy(file["y"]).long()
    return LabelledData(x, labels, name, path.name)
