"""Plots of spectra that experiments share: the picture of Eq. 7, and eigenvalues against frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from symscope.report import COLOURS, new_figure, style

NUMERATOR, DENOMINATOR = COLOURS[0], COLOURS[1]
FLOOR = 1e-17  # below rounding: zeros are drawn here on a logarithmic axis


def inverse_panels(parts: Sequence[tuple[str, pd.DataFrame]]) -> Any:
    """The picture of Eq. 7 in panels: a rectangle of height 1/lambda_N, the area under 1/lambda.

    Args:
        parts: Title of each panel, and a table with columns `frequency` (0 .. N) and `inverse_lambda`.

    Returns:
        The figure.
    """
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(3.0 * len(parts), 3.2)
    with style():
        panels = figure.subplots(1, len(parts), squeeze=False)[0]
        for axes, (title, part) in zip(panels, parts, strict=True):
            last = part["frequency"].max()
            height = float(part.loc[part["frequency"] == last, "inverse_lambda"].iloc[0])
            axes.fill_between(part["frequency"], part["inverse_lambda"], color=DENOMINATOR, alpha=0.35)
            axes.plot(part["frequency"], part["inverse_lambda"], color=DENOMINATOR)
            axes.fill_between(
                [0, last], height, facecolor="none", edgecolor=NUMERATOR, hatch="///", linewidth=1.5
            )
            axes.set(title=title, xlabel="frequency", xlim=(0, last))
            axes.set_ylim(bottom=0)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        panels[0].set_ylabel("inverse eigenvalue 1/λ")
    return figure


def draw_spectra(axes: Any, table: pd.DataFrame, by: str, colour: str) -> None:
    """Eigenvalues against frequency on a logarithmic axis, a faint line for each group of rows.

    Args:
        axes: Axes to draw on.
        table: Columns `frequency` and `relative_eigenvalue`, and the one to group by.
        by: Column whose values have a line each.
        colour: Colour of all lines.
    """
    for _, one in table.groupby(by):
        height = one["relative_eigenvalue"].abs().clip(lower=FLOOR)
        axes.semilogy(one["frequency"], height, "o-", color=colour, alpha=0.4, markersize=3, linewidth=1)
    axes.grid(True)
