"""What `forecast/quality` is measured on: digits, smaller digits, and sets of points in the plane."""

from __future__ import annotations

import importlib
import math

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data import Action, LabelledData
from symscope.data.nodes import node_permutation
from symscope.errors import InputError, nearest
from symscope.forecasting.methods import Question, as_question
from symscope.groups import FiniteGroup, parse
from symscope.numerics import check_count, seeded
from symscope_papers.digits import digits

DATASETS: dict[str, str] = {
    "mnist": "MNIST, 28 x 28",
    "mnist-14": "MNIST, averaged to 14 x 14",
    "digits": "scikit-learn's digits, 8 x 8",
    "points": "sets of points in the plane",
}
IMAGE_ACTIONS = ("C4", "C8", "C16", "C32", "flip", "shift", "D4")
POINT_ACTIONS = ("C8", "S4")
SHIFTS = {28: 14, 14: 14, 8: 8}  # side of an image: cyclic shifts, in steps of two pixels for the largest
CURVES = ("line", "circle", "parabola", "cross", "two groups")
JITTER = 0.1


def quality_question(dataset: str, action: str, classes: int, mnist: str, seed: int) -> Question:
    """A data set of the first so many classes, and what acts on it.

    Args:
        dataset: One of `DATASETS`.
        action: One of `IMAGE_ACTIONS` for images, of `POINT_ACTIONS` for points.
        classes: Largest number of classes.
        mnist: "sample", "fetched" or a folder.
        seed: Seed for drawing samples.

    Raises:
        InputError: Something unknown, or data that is not there.

    >>> quality_question("points", "S4", 5, "sample", seed=0).group.order
    24
    """
    known = POINT_ACTIONS if dataset == "points" else IMAGE_ACTIONS
    if dataset not in DATASETS:
        raise InputError(f"datasets: no {dataset!r}: {nearest(dataset, DATASETS)}")
    if action not in known:
        raise InputError(f"{dataset}: expected an action of {', '.join(known)}, got {action!r}.")
    if dataset == "points":
        group = parse(action)
        assert isinstance(group, FiniteGroup)
        count = group.permutations.shape[1]
        return as_question(point_sets(60, count, seed, classes), node_permutation(group, "features"))
    data = small_digits() if dataset == "digits" else digits(mnist)
    if dataset == "mnist-14":
        halved = torch.nn.functional.avg_pool2d(data.x[:, None], 2)[:, 0]
        data = LabelledData(halved, data.labels, "MNIST 14 x 14", data.source)
    data = data.of_classes(*data.classes[:classes])
    return as_question(data, _image_action(action, data.x.shape[-1]))


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
            "'symscope[sklearn]'`, or leave them out with `--set datasets=mnist,points`."
        ) from error
    images, labels = sets.load_digits(return_X_y=True)
    x = torch.from_numpy(images).to(torch.float64).reshape(-1, 8, 8) / 16
    return LabelledData(x, torch.from_numpy(labels).long(), "digits", "sklearn.datasets.load_digits")


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


def _image_action(action: str, side: int) -> Action | str:
    if action == "shift":
        return f"C{SHIFTS[side]} shift-x"
    return action if action in ("flip", "D4") else f"{action} rotation"
