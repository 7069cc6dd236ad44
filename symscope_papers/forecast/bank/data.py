"""What the bank's networks learn: images, points, series, molecules, graphs; known and new samples apart."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data import Action, LabelledData
from symscope.data.mnist_files import mnist
from symscope.data.nodes import node_permutation
from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup, parse
from symscope.numerics import check_count, seeded
from symscope_papers.digits import digits
from symscope_papers.forecast.bank.kinds import EXPORTED, exported_data, pulse_series, template_graphs

DATASETS: dict[str, str] = {
    "mnist": "MNIST, 28 x 28",
    "six-nine": "MNIST's 3, 6, 8, 9",
    "fashion": "Fashion-MNIST, 28 x 28",
    "cifar": "CIFAR-10, 32 x 32, colour",
    "digits": "scikit-learn's digits, 8 x 8",
    "noisy": "noisy digits, 8 x 8, some labels wrong",
    "points": "sets of points in the plane",
    "pulses": "series with a pulse",
    "italy": "days of power demand",
    "rings": "molecules with and without a ring",
    "handed": "stereocentres, R and S",
    "graphs": "graphs of eight nodes",
}
MADE: dict[str, Callable[[int, int], LabelledData]] = {
    "points": lambda count, seed: point_sets(count, 8, seed),
    "pulses": pulse_series,
    "graphs": template_graphs,
}
CURVES = ("line", "circle", "parabola", "cross", "two groups")
JITTER = 0.1
NEW = 100  # new samples of each class
HISS, WRONG = 0.25, 0.08  # of noisy digits: standard deviation of pixels from 0 to 1, share of labels


def bank_data(
    name: str, samples: int, folders: Mapping[str, str], seed: int
) -> tuple[LabelledData, LabelledData]:
    """Known samples, so many of each class, and up to 100 new ones of each class.

    Args:
        name: One of `DATASETS`.
        samples: Known samples of each class.
        folders: Where MNIST, Fashion-MNIST, CIFAR-10 and files of `export` are: "mnist" (or "sample"),
            "fashion", "cifar", "exported".
        seed: Seed for drawing samples.

    Raises:
        InputError: An unknown name, data that is not there, or too few samples.

    >>> known, new = bank_data("points", 5, {}, seed=0)
    >>> len(known), len(new), known.x.shape[1:]
    (25, 500, torch.Size([8, 2]))
    """
    if name not in DATASETS:
        raise InputError(f"data: no {name!r}: {nearest(name, DATASETS)}")
    if name in MADE:
        return MADE[name](samples, seed), MADE[name](NEW, seed + 1)
    if name == "noisy":
        known, new = bank_data("digits", samples, folders, seed)
        return noisy_samples(known, WRONG, seed), noisy_samples(new, 0.0, seed + 1)
    place = "mnist" if name == "six-nine" else "exported" if name in EXPORTED else name
    train, test = _whole(name, folders.get(place, "sample"))
    apart = train is not test
    if name == "six-nine":
        train, test = (one.of_classes(3, 6, 8, 9) for one in (train, test))
    if apart:
        fewest = min(NEW, int(test.labels.bincount()[test.labels.unique()].min()))
        return _drawn(train, samples, seed, name), test.per_class(fewest, seed)
    fewest = int(train.labels.bincount()[train.labels.unique()].min())
    count = min(NEW, fewest - samples)
    if count < 1:
        raise InputError(f"{name}: expected fewer than {fewest} samples of each class, got {samples}.")
    drawn = train.per_class(samples + count, seed)
    first = (torch.arange(len(drawn)) % (samples + count)) < samples
    return drawn.take(first.nonzero()[:, 0]), drawn.take((~first).nonzero()[:, 0])


def _drawn(data: LabelledData, samples: int, seed: int, name: str) -> LabelledData:
    fewest = int(data.labels.bincount()[data.labels.unique()].min())
    if samples > fewest:
        raise InputError(f"{name}: expected at most {fewest} samples of each class, got {samples}.")
    return data.per_class(samples, seed)


@lru_cache(maxsize=2)
def _whole(name: str, folder: str) -> tuple[LabelledData, LabelledData]:
    """Training and test part; twice the same where there is one part."""
    if name == "digits":
        one = small_digits()
        return one, one
    if name in EXPORTED:
        one = exported_data(name, folder)
        return one, one
    if name == "cifar":
        return _npz(Path(folder, "train.npz")), _npz(Path(folder, "test.npz"))
    if name == "fashion":
        train, test = (mnist(folder, split, torch.float32, "fashion-mnist") for split in ("train", "test"))
        return train, test
    if folder == "sample":
        one = digits("sample")
        return one, one
    return digits(folder), digits(folder, "test")


def _npz(path: Path) -> LabelledData:
    """Images `X` [n, height, width, 3] in bytes, and classes `y`."""
    if not path.is_file():
        raise InputError(f"cifar: expected a folder with train.npz and test.npz, there is no {path}.")
    with np.load(path, allow_pickle=False) as file:
        images, labels = torch.from_numpy(file["X"]), torch.from_numpy(file["y"]).long()
    return LabelledData(images.movedim(3, 1).float().contiguous() / 255, labels, "CIFAR-10", path.name)


def bank_action(data: str, name: str, side: int) -> Action | str:
    """What acts: "C8", "D4", "flip" or "shift" on images, "shift" by eighths on series, "O" and "flip" on
    molecules; a group that renumbers points of sets and nodes of graphs."""
    if data in ("points", "graphs"):
        group = parse(name)
        assert isinstance(group, FiniteGroup)
        return node_permutation(group, "adjacency" if data == "graphs" else "features")
    if data in ("pulses", "italy"):
        return "C8 shift-x"
    if data in ("rings", "handed"):
        return "C2 flip-x" if name == "flip" else f"{name} points:3"
    if name == "shift":
        return f"C{side // 2} shift-x" if side > 8 else f"C{side} shift-x"
    return name if name in ("flip", "D4") else f"{name} rotation"


def small_digits() -> LabelledData:
    """The 1,797 digits of 8 x 8 pixels that come with scikit-learn.

    Raises:
        InputError: scikit-learn is not installed.

    >>> small_digits().x.shape
    torch.Size([1797, 8, 8])
    """
    try:
        sets = importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise InputError(
            "the 8 x 8 digits come with scikit-learn, which is not installed: `pip install "
            "'symscope[sklearn]'`, or leave them out with `--only data=mnist,points`."
        ) from error
    images, labels = sets.load_digits(return_X_y=True)
    x = torch.from_numpy(images).to(torch.float64).reshape(-1, 8, 8) / 16
    return LabelledData(x, torch.from_numpy(labels).long(), "digits", "sklearn.datasets.load_digits")


def noisy_samples(data: LabelledData, wrong: float, seed: int) -> LabelledData:
    """Samples with noise of 0.25 at every pixel, and the label of another class on a share of them.

    Args:
        data: Samples with labels from 0 on.
        wrong: Share of labels that are wrong.
        seed: Seed for drawing noise.

    >>> one = noisy_samples(small_digits(), 0.1, seed=0)
    >>> 0.08 < float((one.labels != small_digits().labels).double().mean()) < 0.12
    True
    """
    generator, classes = seeded(seed, 20), int(data.labels.max()) + 1
    noise = HISS * torch.randn(data.x.shape, generator=generator, dtype=torch.float64)
    swapped = torch.rand(len(data), generator=generator) < wrong
    further = torch.randint(1, classes, (len(data),), generator=generator)
    labels = torch.where(swapped, (data.labels + further) % classes, data.labels)
    return LabelledData(data.x + noise.to(data.x), labels, "noisy", data.source)


def point_sets(per_class: int, points: int, seed: int, classes: int = len(CURVES)) -> LabelledData:
    """Sets of points near a curve, in any order: which curve is the class, and order should not matter.

    A line, a circle, a parabola, a cross or two groups, turned by any angle; every point has noise of 0.1.

    Args:
        per_class: Sets of each class.
        points: Points of a set, two or more.
        seed: Seed for drawing samples.
        classes: The first so many curves.

    Returns:
        Inputs `[n, points, 2]`.

    Raises:
        InputError: Counts that are too small.

    >>> point_sets(3, 4, seed=0).x.shape
    torch.Size([15, 4, 2])
    """
    per_class, points = check_count("per_class", per_class), check_count("points", points, 2)
    generator = seeded(seed, 17)
    kinds = CURVES[: check_count("classes", classes, 2)]
    clean = torch.cat([_curve(kind, per_class, points, generator) for kind in kinds])
    angle = 2 * math.pi * torch.rand(len(clean), generator=generator, dtype=torch.float64)
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], 1).reshape(-1, 2, 2)
    noise = torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    x = clean @ turn.mT + JITTER * noise
    labels = torch.arange(len(kinds)).repeat_interleave(per_class)
    return LabelledData(x, labels, "points", f"point_sets({per_class}, {points}, {seed}, {len(kinds)})")


def _curve(kind: str, count: int, points: int, generator: torch.Generator) -> Float[Tensor, "count points 2"]:
    """Points at random places of a curve of mean square about 1; in no order, as places are random."""
    t = 2 * torch.rand(count, points, generator=generator, dtype=torch.float64) - 1
    side = (torch.rand(count, points, generator=generator, dtype=torch.float64) < 0.5).double()
    if kind == "line":
        return torch.stack([1.7 * t, torch.zeros_like(t)], 2)
    if kind == "circle":
        return torch.stack([(math.pi * t).cos(), (math.pi * t).sin()], 2)
    if kind == "parabola":
        return torch.stack([1.4 * t, 2 * t**2 - 2 / 3], 2)
    if kind == "cross":
        return torch.stack([1.7 * t * side, 1.7 * t * (1 - side)], 2)
    return torch.stack([2 * side - 1, 0.5 * t], 2)
