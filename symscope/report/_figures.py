"""Figures in one style: colours that read on light and dark pages, orbits, irreps, files."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import checked, shortened, write_whole

# Ink and paper are looked for by `report.svg`, which hands them over to the page's own colours.
LARGEST_INCHES = 300  # 30,000 pixels: more than any screen or printer has
INK = "#1b1f24"
FAINT = "#8b939c"
PAPER = "#ffffff"

# At least 3:1 against both white and the dark page (#14171a), told apart with any colour vision.
COLOURS = ("#2878c8", "#d2511e", "#178a62", "#a05cc0", "#98771a", "#c43c6c")
RIGHT = "#178a62"
WRONG = "#cc4433"

RC: dict[str, Any] = {
    "figure.facecolor": PAPER,
    "figure.dpi": 100,
    "savefig.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "font.size": 10,
    "svg.fonttype": "path",
    "svg.hashsalt": "symscope",
}


@checked
def new_figure(width: float | int, height: float | int) -> Any:
    """An empty matplotlib figure in the house style, tied to no window and no global state.

    Draw on it inside `with style():`, so that axes made later follow the style too.

    Args:
        width: Inches.
        height: Inches.

    Raises:
        InputError: A size that is not positive.

    >>> new_figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    from matplotlib.figure import Figure

    if not (0 < width <= LARGEST_INCHES and 0 < height <= LARGEST_INCHES):
        size = f"{shortened(width)} x {shortened(height)}"
        raise InputError(f"a figure has 0 to {LARGEST_INCHES} inches, got {size}")
    with style():
        return Figure(figsize=(width, height), layout="constrained")


def style() -> Any:
    """A context in which matplotlib draws in the house style; nothing is changed outside it.

    >>> import matplotlib
    >>> with style():
    ...     matplotlib.rcParams["axes.edgecolor"] == INK
    True
    """
    import matplotlib

    settings: Any = {**matplotlib.rcParamsDefault, "backend": "agg", **RC}
    return matplotlib.rc_context(settings)


def figure_bytes(figure: Any, format: str) -> bytes:
    """A figure as the bytes of an SVG, PNG or PDF file, the same bytes every time.

    Args:
        figure: A matplotlib figure.
        format: "svg", "png" or "pdf".

    Raises:
        InputError: Another format.

    >>> figure_bytes(new_figure(1, 1), "png")[1:4]
    b'PNG'
    """
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": "symscope"},
        "png": {"Software": "symscope"},
        "pdf": {"CreationDate": None},
    }
    if format not in metadata:
        raise InputError(f"figures are written as svg, png or pdf, got {format!r}")
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format=format, dpi=160, metadata=metadata[format])
    return buffer.getvalue()


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure to a file whose ending says the format.

    Args:
        figure: A matplotlib figure.
        path: Ends in .svg, .png or .pdf; its folder must exist.

    Raises:
        InputError: Another ending, or a folder that cannot be written.
    """
    write_whole(figure_bytes(figure, path.suffix.removeprefix(".")), path)


@checked
def orbit_figure(
    images: Float[Tensor, "samples elements *channels height width"],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    kind: str = "image",
) -> Any:
    """The samples of a few orbits on a grid.

    Args:
        images: `images[s, g]` is sample s moved by group element g; three channels of images are colours.
        rows: One label per sample.
        columns: One label per group element.
        title: Above the grid.
        kind: What the samples are, as for `draw_sample`.

    Returns:
        A matplotlib figure.

    Raises:
        InputError: Labels that do not match the images, or pixels that are not finite.

    >>> import torch
    >>> figure = orbit_figure(torch.rand(2, 3, 5, 5), rows=["a", "b"], columns=["e", "r", "rr"], title="C3")
    >>> len(figure.axes)
    6
    """
    samples, elements = images.shape[:2]
    if (len(rows), len(columns)) != (samples, elements):
        raise InputError(
            f"expected {samples} row and {elements} column labels for images of shape {tuple(images.shape)}, "
            f"got {len(rows)} and {len(columns)}"
        )
    if not bool(images.isfinite().all()):
        raise InputError(
            "the images contain values that are not finite; remove or replace them before drawing"
        )
    low, high = float(images.min()), float(images.max())
    size = min(1.2, 14 / elements)
    lines = max(name.count("\n") for name in columns)
    figure = new_figure(0.5 + size * elements, 0.45 + size * samples + 0.2 * (1 + lines))
    with style():
        axes = figure.subplots(samples, elements, squeeze=False)
        for s in range(samples):
            for g in range(elements):
                axis = axes[s, g]
                if kind == "image":
                    draw_image(axis, images[s, g], low, high)
                else:
                    draw_sample(axis, images[s, g], kind)
                axis.set(xticks=[], yticks=[])
                for spine in axis.spines.values():
                    spine.set_visible(False)
                if s == 0 and elements <= 32:
                    axis.set_title(columns[g], fontsize=8, fontweight="normal", loc="center")
                if g == 0:
                    axis.set_ylabel(rows[s], fontsize=9, rotation=0, ha="right", va="center")
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left")
    return figure


@checked
def draw_image(axis: Any, image: Float[Tensor, "*channels height width"], low: float, high: float) -> None:
    """One image, in colour if it has three channels, otherwise in grey, the mean of those it has.

    Args:
        axis: Axis to draw on.
        image: Channels first.
        low: What is black.
        high: What is white, or a colour at its brightest.
    """
    pixels = image.cpu().flatten(0, -3) if image.ndim > 2 else image.cpu()[None]
    if len(pixels) == 3:
        shown = ((pixels - low) / max(high - low, 1e-300)).clamp(0, 1)
        axis.imshow(shown.permute(1, 2, 0).numpy(), interpolation="nearest")
    else:
        axis.imshow(pixels.mean(0).numpy(), cmap="gray", vmin=low, vmax=high, interpolation="nearest")


@checked
def draw_sample(axis: Any, sample: Float[Tensor, "*channels rows columns"], kind: str) -> None:
    """An image; a series as lines; points in the plane, near ones dark; a graph on a circle; a set as rows.

    Args:
        axis: Axis to draw on.
        sample: One sample.
        kind: "image", "series", "points", "graph" or "set", as `data.sample_kind` has it.
    """
    if kind in ("image", "set"):
        draw_image(axis, sample, float(sample.min()), float(sample.max()))
        if kind == "set":
            axis.set_aspect("auto")
            axis.set_box_aspect(1)
    elif kind == "series":
        axis.set_prop_cycle(color=COLOURS)
        axis.plot(sample.flatten(0, -2).T.tolist(), linewidth=1)
        axis.set_box_aspect(1)
    elif kind == "graph":
        _draw_graph(axis, sample.flatten(0, -3).mean(0) if sample.ndim > 2 else sample)
    else:
        _draw_points(axis, sample)


def _draw_points(axis: Any, sample: Float[Tensor, "*channels rows columns"]) -> None:
    """Points at their first two coordinates, alike in both directions; a third one is shown by the shade."""
    last = sample.shape[-2] not in (2, 3) or sample.shape[-1] in (2, 3)
    columns = sample.flatten(0, -2).T if last else sample.movedim(-2, 0).flatten(1)
    x, y = columns[0].tolist(), columns[1].tolist()
    if len(columns) > 2:
        order = columns[2].argsort()  # near points over far ones
        near, far = float(columns[2].max()), float(columns[2].min())
        shade = 0.25 + 0.75 * (columns[2] - far) / max(near - far, 1e-300)
        x, y, alpha = columns[0][order].tolist(), columns[1][order].tolist(), shade[order].tolist()
        axis.scatter(x, y, s=7, color=COLOURS[0], alpha=alpha, linewidths=0)
    else:
        axis.scatter(x, y, s=6, color=COLOURS[0])
    reach = 1.1 * max(map(abs, [*x, *y])) or 1.0
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def _draw_graph(axis: Any, weights: Float[Tensor, "nodes nodes"]) -> None:
    """Nodes on a circle, the first at the top, and lines where there are edges, faint where they are weak."""
    angles = 2 * math.pi * torch.arange(len(weights)) / len(weights)
    x, y = angles.sin().tolist(), angles.cos().tolist()
    even = (weights + weights.T).abs() / 2
    strongest = max(float(even.max()), 1e-300)
    for i, j in even.triu(1).nonzero().tolist():
        strength = float(even[i, j]) / strongest
        axis.plot([x[i], x[j]], [y[i], y[j]], color=INK, linewidth=1, alpha=strength, zorder=1)
    shades = [WRONG, *[COLOURS[0]] * (len(weights) - 1)]  # the first node, to see how the others moved
    axis.scatter(x, y, s=14, color=shades, zorder=2)
    axis.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")


@checked
def irrep_figure(rows: Sequence[Mapping[str, Any]], *, title: str) -> Any:
    """Bars of each irrep's share of the stiffness, with a mark where an equally strong kernel would be.

    Irreps whose bar stays below its mark hold generalisation back and are drawn in the colour of errors; the
    trivial one, the labels' own, is grey.

    Args:
        rows: As from `spectral.LeaveOut.table()`: `irrep`, `share`, `weight`, `trivial`, `limits`.
        title: Above the axes.

    Returns:
        A matplotlib figure.

    Raises:
        InputError: No rows, or rows without those columns.

    >>> rows = [{"irrep": "1a", "share": 0.9, "weight": 0.5, "trivial": True, "limits": False},
    ...         {"irrep": "1b", "share": 0.1, "weight": 0.5, "trivial": False, "limits": True}]
    >>> [round(float(bar.get_height()), 2) for bar in irrep_figure(rows, title="C2").axes[0].patches]
    [0.9, 0.1]
    """
    needed = ("irrep", "share", "weight", "trivial", "limits")
    if not rows or any(key not in row for row in rows for key in needed):
        raise InputError(
            f"expected one row or more with the columns {', '.join(needed)}; got {list(rows)[:2]}"
        )
    figure = new_figure(min(12.0, 4.5 + 0.3 * len(rows)), 3.6)
    with style():
        axes = figure.subplots()
        places = range(len(rows))
        axes.bar(
            places,
            [float(row["share"]) for row in rows],
            color=[FAINT if row["trivial"] else WRONG if row["limits"] else COLOURS[0] for row in rows],
            width=0.75,
        )
        axes.scatter(
            places,
            [float(row["weight"]) for row in rows],
            marker="_",
            s=120,
            color=INK,
            zorder=3,
            label="if the kernel were equally strong everywhere",
        )
        names = [str(row["irrep"]) for row in rows]
        step = 1 if len(rows) <= 24 else -(-len(rows) // 24)
        axes.set_xticks(list(places)[::step], names[::step], rotation=60, ha="right", fontsize=8)
        axes.set(ylabel="share of the stiffness", title=title)
        figure.legend(loc="outside lower center", fontsize=8)
    return figure
