"""Pictures of orbits: one row per seed, one column per group element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.report._style import new_figure, style


def orbit_figure(
    images: Float[Tensor, "seeds elements *channels height width"],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
) -> Any:
    """The images of a few orbits on a grid.

    Args:
        images: `images[s, g]` is seed s moved by group element g; three channels are colours.
        rows: One label per seed.
        columns: One label per group element.
        title: Above the grid.

    Returns:
        A matplotlib figure.

    Raises:
        InputError: Labels that do not match the images, or pixels that are not finite.

    >>> import torch
    >>> figure = orbit_figure(torch.rand(2, 3, 5, 5), rows=["a", "b"], columns=["e", "r", "rr"], title="C3")
    >>> len(figure.axes)
    6
    """
    seeds, elements = images.shape[:2]
    if (len(rows), len(columns)) != (seeds, elements):
        raise InputError(
            f"expected {seeds} row and {elements} column labels for images of shape {tuple(images.shape)}, "
            f"got {len(rows)} and {len(columns)}"
        )
    if not bool(images.isfinite().all()):
        raise InputError(
            "the images contain values that are not finite; remove or replace them before drawing"
        )
    low, high = float(images.min()), float(images.max())
    size = min(1.2, 14 / elements)
    figure = new_figure(0.5 + size * elements, 0.45 + size * seeds + 0.2)
    with style():
        axes = figure.subplots(seeds, elements, squeeze=False)
        for s in range(seeds):
            for g in range(elements):
                axis = axes[s, g]
                draw_image(axis, images[s, g], low, high)
                axis.set(xticks=[], yticks=[])
                for spine in axis.spines.values():
                    spine.set_visible(False)
                if s == 0 and elements <= 32:
                    axis.set_title(columns[g], fontsize=8, fontweight="normal", loc="center")
                if g == 0:
                    axis.set_ylabel(rows[s], fontsize=9, rotation=0, ha="right", va="center")
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left")
    return figure


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
