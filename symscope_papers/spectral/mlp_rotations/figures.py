"""Figures of `spectral/mlp-rotations`, in the paper's layout."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, FAINT, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import shared_legend
from symscope_papers.scatter_plots import coloured_dots
from symscope_papers.spectral.mlp_rotations.claims import layers_text
from symscope_papers.spectral.mlp_rotations.config import MlpRotations
from symscope_papers.spectral.pairs.angles import distances
from symscope_papers.spectral.pairs.figures import EXACT, angle_axis, angle_scatter, draw_geometry
from symscope_papers.spectrum_plots import inverse_panels


def draw_plots(config: MlpRotations, tables: RunTables) -> list[Plot]:
    """Matrices, scatters, inverse spectra and geometry; the scatter of other depths; agreement against n."""
    table = tables["pairs"]
    ntk = table[table["kernel"] == "NTK"]
    made = [matrices_plot(tables["matrices"], config.shown, config.hidden[0])]
    for hidden in config.hidden:
        part = ntk[ntk["hidden"] == hidden]
        source = "Fig. 4B, App. D" if hidden == 1 else "Fig. 10"
        made.append(scatter_plot(part, hidden, "spectral", source))
        if hidden == config.hidden[0]:
            made += [
                scatter_plot(part, hidden, "projected", "beyond the paper"),
                inverse_plot(tables["spectra"], part, hidden, config.shown),
                geometry_plot(part[part["angles"] == config.shown], hidden, config.shown),
            ]
    return [*made, agreement_plot(table)]


def matrices_plot(matrices: pd.DataFrame, shown: int, hidden: int) -> Plot:
    """Eq. 12 seen: a pair's kernel, the circulant one the paper takes for it, and the projected one."""
    part = matrices[matrices["hidden"] == hidden]
    names = {
        "kernel": "kernel",
        "circularised": "circularised (paper)",
        "projected": "projected on the group",
    }
    figure = new_figure(9.2, 3.4)
    apart = part[part["row"] != part["column"]]
    low, high = apart[list(names)].min().min(), apart[list(names)].max().max()
    with style():
        panels = figure.subplots(1, 3)
        for axes, (column, title) in zip(panels, names.items(), strict=True):
            grid = part.pivot(index="row", columns="column", values=column).to_numpy()
            image = axes.imshow(grid, cmap="cividis", vmin=low, vmax=high)
            axes.set_title(title)
            points = ["A0", "B0", "A1", "B1"]
            axes.set_xticks(range(4), points, fontsize=8, rotation=90)
            axes.set_yticks(range(4), points, fontsize=8)
        figure.colorbar(image, ax=panels, shrink=0.8, label="NTK", extend="max")
    off = {c: float(((part["kernel"] - part[c]) ** 2).sum() ** 0.5) for c in ("circularised", "projected")}
    whole = float(((part["kernel"] - part["kernel"].mean()) ** 2).sum() ** 0.5)
    return Plot(
        name="matrices",
        figure=figure,
        title="What each theory keeps of a kernel matrix",
        source="Fig. 4A, Eq. 12",
        alt="Three kernel matrices of one pair of digits, points in the order A0, B0, A1, B1: the kernel "
        "itself, the circularised one with equal values along every diagonal, and the group-projected one, "
        "which looks like the kernel.",
        caption=f"One pair at {shown} angles, orbits interleaved; colours show what is off the diagonal. "
        f"Circularising moves the matrix by {off['circularised'] / whole:.1%} of what varies in it, "
        f"projecting on the group by {off['projected'] / whole:.1%}.",
    )


def scatter_plot(ntk: pd.DataFrame, hidden: int, column: str, source: str) -> Plot:
    """The predicted error against the exact one, a panel for each number of angles."""
    names = {"spectral": "spectral error (Eq. 7)", "projected": "group-projected error"}
    figure, ranges = angle_scatter(ntk, column, "exact", (names[column], EXACT))
    return Plot(
        name=f"{column}-{hidden}",
        figure=figure,
        title=f"{names[column].capitalize()} against regression, {layers_text(hidden)}",
        source=source,
        alt=f"Scatter plots, one for each number of angles, of the {names[column]} against the exact "
        f"symmetrised error of {ntk['pair'].nunique()} pairs; dots lie along the diagonal ({ranges}).",
        caption=f"Each dot is a pair of digits ({ntk['pair'].nunique()} pairs, NTK). Above 1 the "
        "missing image is put into the other class.",
    )


def inverse_plot(spectra: pd.DataFrame, ntk: pd.DataFrame, hidden: int, shown: int) -> Plot:
    """Three pairs' inverse spectra: best, at the border, worst."""
    mine = spectra[(spectra["hidden"] == hidden) & (spectra["angles"] == shown)]
    errors = ntk[ntk["angles"] == shown].set_index("pair")
    parts = []
    for place, part in mine.groupby("place", sort=False):
        row = errors.loc[part["pair"].iloc[0]]
        digits = f"{int(row['class_a'])} and {int(row['class_b'])}"
        parts.append((f"{place}: {digits}\nerror {row['exact']:.2f}, spectral {row['spectral']:.2f}", part))
    return Plot(
        name=f"inverse-{hidden}",
        figure=inverse_panels(parts),
        title=f"Why: inverse spectra of three pairs, {layers_text(hidden)}",
        source="Fig. 2C-D, 4",
        alt="Inverse spectra of the best predicted pair, of one at the border, and of the worst: a hatched "
        "rectangle of height one over lambda N against the shaded area under the curve; in the worst "
        "pair the rectangle is larger than the area.",
        caption=f"The spectral error is the hatched rectangle (height 1/λ at the highest frequency) over the "
        f"shaded area under 1/λ. {shown} angles, NTK.",
    )


def geometry_plot(part: pd.DataFrame, hidden: int, shown: int) -> Plot:
    """Numerator against denominator (4C), and each against what it means in input space (4D, 4E)."""
    part = part.assign(inverse_n=1 / part["lambda_n"])
    figure = new_figure(9.4, 3.6)
    with style():
        plane, *others = figure.subplots(1, 3)
        coloured_dots(plane, part, "mean_inverse", "inverse_n", "exact")
        low = min(part["mean_inverse"].min(), part["inverse_n"].min())
        high = max(part["mean_inverse"].max(), part["inverse_n"].max())
        plane.plot([low, high], [low, high], color=FAINT, linewidth=1, label="spectral error 1")
        plane.set(xlabel="mean of 1/λ", ylabel=r"$1/\lambda_N$", title="when it fails")
        rs = draw_geometry(others, part, "r = {:.3f}")
        shared_legend(figure, [plane])
    return Plot(
        name=f"geometry-{hidden}",
        figure=figure,
        title=f"What the spectrum means in input space, {layers_text(hidden)}",
        source="Fig. 4C-E" if hidden == 1 else "Fig. 10",
        alt="Three scatter plots of pairs of digits coloured by correctness: one over lambda N against the "
        "mean inverse spectrum, with wrong predictions above the line of error one; lambda N rising with "
        f"the separation of orbits (r {rs[0]:.3f}); the mean inverse rising with density (r {rs[1]:.3f}).",
        caption=f"{shown} angles, NTK. Predictions fail above the grey line; both axes have a meaning in "
        "input space, shown beside it.",
    )


def agreement_plot(table: pd.DataFrame) -> Plot:
    """How near each theory is to the exact error, against n, for both kernels and all depths."""
    figure = new_figure(9.0, 3.9)
    wanted = (
        ("spectral", "exact", "spectral error", "o-"),
        ("projected", "exact", "group-projected", "s-"),
        ("projected", "mean_exact", "group-projected, mean over the missing angle", "^:"),
    )
    with style():
        panels = figure.subplots(1, table["kernel"].nunique(), sharey=True, squeeze=False)[0]
        for axes, (kernel, part) in zip(panels, table.groupby("kernel", sort=False), strict=True):
            for (column, exact, name, line), colour in zip(wanted, COLOURS, strict=False):
                for depth, hidden in enumerate(part["hidden"].unique().tolist()):
                    mine = part[part["hidden"] == hidden]
                    gaps = distances(mine, column, exact)
                    axes.plot(
                        list(gaps),
                        [max(gap, 1e-15) for gap in gaps.values()],
                        line,
                        color=colour,
                        alpha=1 if depth == 0 else 0.5,
                        fillstyle="full" if depth == 0 else "none",
                        label=f"{name}, {layers_text(hidden)}",
                    )
            angle_axis(axes, table["angles"].unique().tolist())
            axes.set(yscale="log", title=str(kernel))
            axes.grid(True)
        panels[0].set_ylabel("mean distance from the exact error")
        shared_legend(figure, panels[:1], "lower center", columns=2, fontsize=8.5)
    return Plot(
        name="agreement",
        figure=figure,
        title="How near each theory is to regression itself",
        source="App. D, and beyond the paper",
        alt="Line charts for NTK and NNGP of the mean absolute distance from the exact error against the "
        "number of angles: spectral error highest, group-projected error below it up to 16 angles, and "
        "far below it when the exact error is averaged over the missing angle.",
        caption="Without interpolation (2 and 4 angles) the group form is exact to rounding. Beyond, splines "
        "treat angles a little differently, and what remains is that difference.",
    )
