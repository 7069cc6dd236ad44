"""Figures of `spectral/own-kernels`."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import doubling_axis, shared_legend, wrong_line
from symscope_papers.spectral.networks.claims import NAMES
from symscope_papers.spectral.own_kernels.config import OwnKernels


def draw_plots(config: OwnKernels, tables: RunTables) -> list[Plot]:
    """Distance from circulant against initialisations averaged, and predicted errors with error bars."""
    table = tables["pairs"]
    figure = new_figure(8.8, 4.4)
    with style():
        left, right = figure.subplots(1, 2)
        counts = table[table["start"] < 0]["averaged"].unique().tolist()
        for colour, network in zip(COLOURS, config.networks, strict=False):
            for k, (n, line) in enumerate(zip(config.angles, ("-", "--", ":", "-."), strict=False)):
                part = table[(table["network"] == network) & (table["angles"] == n)]
                if part.empty:  # a run that was closed before its end
                    continue
                gaps = part[part["start"] < 0].groupby("averaged")["orbit_gap"].mean()
                left.plot(gaps.index, gaps, f"o{line}", color=colour, label=f"{NAMES[network]}, {n} angles")
                single = part[part["start"] >= 0].groupby("start")["exact"].mean()
                place = config.networks.index(network) + 0.15 * (k - (len(config.angles) - 1) / 2)
                right.errorbar(
                    [place], [single.mean()], [single.std()], fmt="o", color=colour, alpha=1 - 0.25 * k
                )
        left.set_yscale("log")
        doubling_axis(left, counts, "initialisations averaged")
        left.set_ylabel("distance from circulant")
        left.grid(True)
        shared_legend(figure, [left], columns=len(config.networks), fontsize=8)
        right.set_xlim(-0.5, len(config.networks) - 0.5)
        right.set_xticks(range(len(config.networks)), [NAMES[name] for name in config.networks])
        right.set_ylabel("error at the missing image")
        wrong_line(right)
        right.grid(True, axis="y")
    return [
        Plot(
            name="own-kernels",
            figure=figure,
            title="Kernels of the networks of Fig. 1",
            source="beyond the paper",
            alt="Left: the distance of an orbit's kernel from circulant against the number of "
            "initialisations averaged. Right: errors of regression at the missing image with each network's "
            "own kernel, with the spread over initialisations.",
            caption="Right: fainter for more angles; bars are standard deviations over initialisations. "
            "Above the dashed line the prediction is wrong.",
        )
    ]
