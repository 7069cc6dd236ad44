"""What the networks of `forecast/budgets` learn, and how it is transformed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import nn

from symscope.data import Action, LabelledData, parse_named_action
from symscope.data.nodes import node_permutation
from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup, parse
from symscope_papers.forecast.bank.data import bank_action, bank_data
from symscope_papers.forecast.budgets.kinds import motif_graphs, textures, waves
from symscope_papers.forecast.budgets.strokes import letter_images, letter_points, wires

DATASETS: dict[str, str] = {
    "digits": "scikit-learn's digits, 8 x 8",
    "noisy": "the same with noise, some labels wrong",
    "large-digits": "the same enlarged to 14 x 14",
    "small-mnist": "MNIST's digits, 14 x 14",
    "letters": "letters of strokes, 16 x 16",
    "textures": "oriented textures, 16 x 16",
    "pulses": "series of 64 moments with a pulse",
    "waves": "two series of 48 moments with a wave",
    "points": "eight points of a curve",
    "letter-points": "letters as 24 points in the plane",
    "wires": "bent wires as 18 points in space",
    "graphs": "graphs of eight nodes near a template",
    "motifs": "graphs of ten nodes with a motif",
}
MADE: dict[str, Callable[[int, int], LabelledData]] = {
    "letters": letter_images,
    "textures": textures,
    "waves": waves,
    "letter-points": letter_points,
    "wires": wires,
    "motifs": motif_graphs,
}
OF_BANK = ("digits", "noisy", "pulses", "points", "graphs")
LARGE = 14
NEW = 100  # new samples of each class, at most


def case_data(name: str, samples: int, seed: int) -> tuple[LabelledData, LabelledData]:
    """Known samples, so many of each class, and up to 100 new ones of each class.

    Args:
        name: One of `DATASETS`.
        samples: Known samples of each class.
        seed: Seed for drawing samples.

    Raises:
        InputError: An unknown name, too many samples, or scikit-learn is needed and not installed.

    >>> known, new = case_data("waves", 5, seed=0)
    >>> len(known), len(new), known.x.shape[1:]
    (30, 600, torch.Size([2, 48]))
    """
    if name not in DATASETS:
        raise InputError(f"data: no {name!r}: {nearest(name, DATASETS)}")
    if name in MADE:
        return MADE[name](samples, seed), MADE[name](NEW, seed + 1)
    if name in OF_BANK:
        return bank_data(name, samples, {}, seed)
    source = "digits" if name == "large-digits" else "mnist"
    known, new = bank_data(source, samples, {"mnist": "sample"}, seed)
    return _resized(known, name), _resized(new, name)


def _resized(data: LabelledData, name: str) -> LabelledData:
    """Images of 14 x 14: larger ones by means of pixels, smaller ones by cubic interpolation."""
    if data.x.shape[-1] > LARGE:
        x = nn.functional.adaptive_avg_pool2d(data.x[:, None], LARGE)[:, 0]
    else:
        x = nn.functional.interpolate(data.x[:, None], size=(LARGE, LARGE), mode="bicubic")[:, 0]
    return replace(data, x=x, name=name)


def case_action(data: str, name: str, shape: tuple[int, ...]) -> Action:
    """What acts: rotations, "D4", "flip" or "shift" on images, shifts on series, turns of points in the plane
    and in space, a group that renumbers points of sets and nodes of graphs.

    >>> case_action("wires", "T", (18, 3)).group.order, case_action("waves", "C12", (2, 48)).name
    (12, 'shift-x')
    """
    if data == "motifs":
        group = parse(name)
        assert isinstance(group, FiniteGroup)
        return node_permutation(group)
    if data == "waves":
        words: Action | str = f"{name} shift-x"
    elif data in ("letter-points", "wires"):
        words = name if name == "flip" else f"{name} points"
    else:
        words = bank_action(data, name, shape[-1])
    return parse_named_action(words, shape)[1] if isinstance(words, str) else words
