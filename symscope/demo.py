"""A first answer on embedded data: which networks read a digit in an orientation they have never seen it in?

Every digit of the sample is shown in n rotations, except the digits of one class, whose upright images are
left out. An infinitely wide network trained on the rest is kernel regression with its neural tangent kernel,
so its answer on the images left out is computed exactly, without training anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import LabelledData, Orbits, mnist_sample, orbits, rotation
from symscope.errors import InputError
from symscope.kernels import infinite_width
from symscope.report import (
    COLOURS,
    Command,
    Picture,
    Section,
    Table,
    Text,
    figure_bytes,
    image_element,
    inline_svg,
    new_figure,
    orbit_figure,
    page,
    style,
    write_page,
)
from symscope.spectral import circulant_spectrum, circularised, leave_out_residual, precision, spectral_error

SEEDS_PER_CLASS = 3
ROTATIONS = (4, 8, 16, 32)
PAIR = (4, 9)  # two classes that are easily confused
RIDGE = 0.0  # the kernels of distinct points are regular: nothing is added


@final
@dataclass(frozen=True)
class Candidate:
    """A network the demo asks about.

    Attributes:
        name: In tables and legends.
        build: Makes the module for images of one side.
        side: Images are averaged down to this many pixels a side; pooling costs side^4 per pair of images.
        rotations: For which numbers of rotations it is asked.
    """

    name: str
    build: Callable[[int], nn.Module]
    side: int
    rotations: tuple[int, ...]


@final
@dataclass(frozen=True)
class Answer:
    """What was found for one network and one number of rotations.

    Attributes:
        network: Its name.
        rotations: How many orientations each digit has.
        accuracy: Share of the images left out that are read right, over all classes.
        by_class: The same for each class.
        seconds: How long it took.
    """

    network: str
    rotations: int
    accuracy: float
    by_class: tuple[float, ...]
    seconds: float


def mlp(side: int) -> nn.Module:
    """Fully connected, one hidden layer."""
    return nn.Sequential(nn.Linear(side**2, 512), nn.ReLU(), nn.Linear(512, 10))


def conv_flat(side: int) -> nn.Module:
    """One convolution, then every position has weights of its own."""
    conv = nn.Conv2d(1, 64, 3, padding=1, padding_mode="circular", bias=False)
    return nn.Sequential(conv, nn.ReLU(), nn.Flatten(), nn.Linear(64 * side**2, 10, bias=False))


def conv_pooled(side: int) -> nn.Module:
    """One convolution, then the mean over all positions."""
    conv = nn.Conv2d(1, 64, 3, padding=1, padding_mode="circular", bias=False)
    pool = nn.AdaptiveAvgPool2d(1)
    return nn.Sequential(conv, nn.ReLU(), pool, nn.Flatten(), nn.Linear(64, 10, bias=False))


CANDIDATES = (
    Candidate("MLP", mlp, 28, ROTATIONS),
    Candidate("conv, flattened", conv_flat, 28, (4, 8, 16)),
    Candidate("conv, pooled (14x14)", conv_pooled, 14, (4, 8)),
)


def demo(out: Path) -> None:
    """Run the demo: a page, its pictures and a table in the terminal.

    Args:
        out: Folder to write to; made if it is not there.

    Raises:
        InputError: The folder cannot be written.
    """
    from rich.console import Console
    from rich.progress import track

    console = Console()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {out}: {error.strerror}; choose another with --out"
        ) from error
    digits = mnist_sample().per_class(SEEDS_PER_CLASS, seed=0)
    jobs = [(candidate, n) for candidate in CANDIDATES for n in candidate.rotations]
    answers = [
        answer(candidate, digits, n)
        for candidate, n in track(jobs, description="Asking the kernels", console=console)
    ]
    path = out / "report.html"
    write_page(_page(digits, answers), path)
    console.print(_terminal_table(answers))
    console.print(f"Report: {path}", soft_wrap=True)


def answer(candidate: Candidate, digits: LabelledData, rotations: int) -> Answer:
    """Leave out the upright images of each class in turn, and read them from everything else."""
    start = time.perf_counter()
    net = infinite_width(candidate.build(candidate.side))
    made = orbits(digits.x, rotation(rotations), labels=digits.labels)
    points = _prepared(made, candidate)
    inverse = precision(net.ntk(points), ridge=RIDGE)
    assert made.labels is not None
    classes = int(made.labels.max()) + 1
    each = made.labels.repeat_interleave(rotations)
    one_hot = nn.functional.one_hot(each, classes).to(points.dtype)
    right = []
    for label in range(classes):
        missing = (made.labels == label).nonzero()[:, 0] * rotations  # the first of every orbit is upright
        predicted = one_hot[missing] - leave_out_residual(inverse, one_hot, missing)
        right.append(float((predicted.argmax(dim=1) == label).double().mean()))
    return Answer(candidate.name, rotations, sum(right) / classes, tuple(right), time.perf_counter() - start)


def _prepared(made: Orbits, candidate: Candidate) -> Float[Tensor, "n *s"]:
    """The points as the network takes them: averaged down, centred, of unit norm."""
    images = made.flat().points[:, None]
    if candidate.side != images.shape[-1]:
        images = nn.functional.adaptive_avg_pool2d(images, candidate.side)
    images = images - images.mean(dim=(1, 2, 3), keepdim=True)
    images = images / images.flatten(1).norm(dim=1)[:, None, None, None]
    return images.flatten(1) if candidate.build is mlp else images


def _terminal_table(answers: list[Answer]) -> Any:
    from rich.table import Table as TerminalTable

    table = TerminalTable(title="Accuracy on the orientation left out", caption="chance: 0.10")
    table.add_column("network")
    for n in ROTATIONS:
        table.add_column(f"{n} rotations", justify="right")
    for row in _accuracy_rows(answers):
        table.add_row(*row)
    return table


def _accuracy_rows(answers: list[Answer]) -> Iterator[tuple[str, ...]]:
    known = {(a.network, a.rotations): f"{a.accuracy:.2f}" for a in answers}
    for candidate in CANDIDATES:
        yield (candidate.name, *(known.get((candidate.name, n), "") for n in ROTATIONS))


def _page(digits: LabelledData, answers: list[Answer]) -> str:
    kernel, words = _pair_section(digits)
    found = {(a.network, a.rotations): a.accuracy for a in answers}
    fewest, most = ROTATIONS[0], ROTATIONS[-1]
    lead = (
        f"With {fewest} rotations per digit, an infinitely wide MLP reads {found['MLP', fewest]:.0%} of the "
        f"digits in an orientation it has not seen them in; with {most}, {found['MLP', most]:.0%}. "
        "It does not learn the symmetry, it interpolates."
    )
    question = __doc__.split("\n\n", 1)[1].replace("\n", " ").strip()
    sections = [
        Section(
            "The question",
            (Text(question), _orbit_picture(digits)),
        ),
        Section("The answer", (_accuracy_table(answers), _accuracy_picture(answers))),
        Section("Why: the spectrum of two orbits", (Text(words), kernel)),
        Section(
            "Try it yourself",
            (
                Command("symscope demo\nsymscope data show --group D4 --action dihedral\nsymscope list"),
                Text(
                    f"{SEEDS_PER_CLASS} images a class of the bundled MNIST sample, cubic-spline rotations, "
                    "images centred and of unit norm, NTK with w_std = b_std = 1, float64, "
                    f"ridge {RIDGE:g}."
                ),
            ),
        ),
    ]
    return page(title="Will it read a rotated digit?", lead=lead, sections=sections)


def _orbit_picture(digits: LabelledData) -> Picture:
    made = orbits(digits.x, rotation(8), labels=digits.labels)
    assert made.labels is not None
    rows = [int((made.labels == label).nonzero()[0]) for label in PAIR]
    names = [str(label) for label in PAIR]
    columns = ["left out", *(f"{45 * k} degrees" for k in range(1, 8))]
    figure = orbit_figure(made.points[rows], rows=names, columns=columns, title="Two digits under C8")
    element = image_element(
        figure_bytes(figure, "png"), alt="A four and a nine, each in eight rotations by 45 degrees"
    )
    return Picture(
        element, "Two digits in eight orientations", "The first column is what a class is tested on."
    )


def _accuracy_table(answers: list[Answer]) -> Table:
    return Table(
        "Share of left-out upright digits read right, mean over the ten classes (chance: 0.10)",
        ("network", *(f"{n} rotations" for n in ROTATIONS)),
        tuple(_accuracy_rows(answers)),
        numeric=(False, *(True for _ in ROTATIONS)),
    )


def _accuracy_picture(answers: list[Answer]) -> Picture:
    figure = new_figure(6.4, 3.6)
    with style():
        axis = figure.subplots()
        for candidate, colour in zip(CANDIDATES, COLOURS, strict=False):
            mine = [a for a in answers if a.network == candidate.name]
            axis.plot(
                [a.rotations for a in mine],
                [a.accuracy for a in mine],
                "o-",
                color=colour,
                label=candidate.name,
            )
        axis.axhline(0.1, color="#8b939c", linestyle=":", label="chance")
        axis.set_xscale("log", base=2)
        axis.set_xticks(ROTATIONS, [str(n) for n in ROTATIONS])
        axis.set(xlabel="rotations per digit", ylabel="accuracy on the one left out", ylim=(-0.03, 1.03))
        axis.legend()
    alt = "Accuracy on the orientation left out against the number of rotations, one line per network"
    element = inline_svg(figure_bytes(figure, "svg").decode(), prefix="accuracy", alt=alt)
    caption = (
        "Quarter turns (4 rotations) only move pixels; the other angles are interpolated. Pooling makes a "
        "convolution blind to shifts, not to rotations, so its advantage is partial."
    )
    return Picture(element, "More orientations help where the architecture does not", caption)


def _pair_section(digits: LabelledData) -> tuple[Picture, str]:
    """Kernel matrix and inverse spectrum of one digit of each of two classes, and the two errors."""
    made = orbits(digits.x, rotation(8), labels=digits.labels)
    assert made.labels is not None
    pair = made.take([int((made.labels == label).nonzero()[0]) for label in PAIR])
    flat = pair.flat(interleaved=True).points.flatten(1)
    flat = flat - flat.mean(dim=1, keepdim=True)
    gram = infinite_width(mlp(28)).ntk(flat / flat.norm(dim=1, keepdim=True))
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(len(gram) // 2)
    spectrum = circulant_spectrum(circularised(gram))
    estimate = float(spectral_error(spectrum, ridge=RIDGE))
    exact = float(leave_out_residual(precision(gram, ridge=RIDGE), signs, torch.tensor([0]))[0])
    words = (
        f"The tangent kernel of the MLP over one {PAIR[0]} and one {PAIR[1]}, eight rotations each, taken "
        "alternately. "
        f"Regression predicts 1 minus the error at the missing image, so an error above 1 is a wrong answer. "
        f"The error is the height of the inverse spectrum at the labels' own frequency over its mean: "
        f"{estimate:.2f} by that formula, {exact:.2f} when the regression is solved exactly."
    )
    figure = _pair_figure(gram, spectrum)
    alt = "Left: the kernel matrix over sixteen images. Right: the inverse spectrum with its mean."
    element = inline_svg(figure_bytes(figure, "svg").decode(), prefix="pair", alt=alt)
    return Picture(element, "The kernel over two orbits, and its inverse spectrum", ""), words


def _pair_figure(gram: Float[Tensor, "n n"], spectrum: Float[Tensor, "n"]) -> Any:
    figure = new_figure(8.4, 3.6)
    count = len(spectrum)
    inverse = (1 / spectrum).numpy()
    with style():
        left, right = figure.subplots(1, 2)
        shown = left.imshow(gram.numpy(), cmap="viridis")
        figure.colorbar(shown, ax=left, label="NTK")
        left.set(xlabel="image (interleaved)", ylabel="image (interleaved)", title="Kernel matrix")
        colours = [COLOURS[1] if k == count // 2 else COLOURS[0] for k in range(count)]
        right.bar(range(count), inverse, color=colours)
        right.axhline(inverse.mean(), color="#1b1f24", linestyle="--", label="mean")
        right.set_xticks(range(0, count, 4))
        right.set_ylim(0, 1.25 * inverse.max())
        right.set(
            xlabel="frequency (the labels' own in orange)", ylabel="1 / eigenvalue", title="Inverse spectrum"
        )
        right.legend()
    return figure
