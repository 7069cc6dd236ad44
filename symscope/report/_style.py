"""The look every figure shares: colours that read on light and dark pages, and how files are written."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from symscope.errors import InputError
from symscope.numerics import write_whole

# Ink and paper are looked for by `report.svg`, which hands them over to the page's own colours.
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
    "axes.formatter.use_mathtext": True,
}


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

    if width <= 0 or height <= 0:
        raise InputError(f"a figure needs a positive width and height in inches, got {width} x {height}")
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
