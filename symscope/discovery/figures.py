"""Heat maps of generators, labelled by parameter names: for pages, guides and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery.fields import LinearField
from symscope.numerics import explained
from symscope.report import new_figure, style

__all__ = ["generator_figure"]

NAME_LIMIT = 24  # most entries whose names fit along an axis


@explained
def generator_figure(fields: Sequence[LinearField], layout: ParameterLayout, columns: int = 3) -> Any:
    """Heat maps of linear generators on the parameters they touch, labelled by parameter names.

    Args:
        fields: Linear generators.
        layout: Names of the parameters.
        columns: Number of maps in a row.

    Returns:
        A matplotlib figure.
    """
    maps = []
    for field in fields:
        affine = bool(field.offset.any())
        matrix = torch.cat([field.matrix, field.offset[:, None]], 1) if affine else field.matrix
        maps.append((field.name, matrix, field.support))
    return matrix_maps(maps, layout, columns)


def matrix_maps(maps: Sequence[tuple[str, Tensor, Tensor]], layout: ParameterLayout, columns: int) -> Any:
    """Heat maps of matrices on some parameters, each with a title; a column more than rows is a constant."""
    rows = -(-len(maps) // columns)
    largest = max(matrix.shape[0] for _, matrix, _ in maps)
    side = min(max(2.9, 0.2 * largest), 4.0)
    figure = new_figure(side * min(columns, len(maps)) + 1.0, (side + 0.5) * rows)
    with style():
        grid = figure.subplots(rows, min(columns, len(maps)), squeeze=False).flatten()
        for axes in grid[len(maps) :]:
            axes.set_axis_off()
        for axes, (name, matrix, support) in zip(grid, maps, strict=False):
            top = max(float(matrix.abs().max()), 1e-300)
            image = axes.imshow(matrix.double().cpu().numpy() / top, cmap="RdBu_r", vmin=-1, vmax=1)
            names = [layout.entry(int(i)) for i in support]
            size = 7.5 if len(names) <= 10 else 6
            across = [*names, "constant"] if matrix.shape[1] > len(names) else names
            if len(names) <= NAME_LIMIT:
                axes.set_xticks(range(len(across)), across, rotation=90, fontsize=size)
                axes.set_yticks(range(len(names)), names, fontsize=size)
            else:
                axes.set(xlabel=f"{names[0]} to {names[-1]}", ylabel="the same")
            axes.tick_params(length=0)
            axes.set_title(_wrapped(name), loc="center", fontsize=8)
        figure.colorbar(image, ax=grid.tolist(), shrink=0.7, label="entry over the largest")
    return figure


def _wrapped(name: str, width: int = 28) -> str:
    """A name in lines of about equal length."""
    import textwrap

    lines = -(-len(name) // width)
    return "\n".join(textwrap.wrap(name, -(-len(name) // lines) + 5)[:4])
