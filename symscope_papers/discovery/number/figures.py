"""Figure of `discovery/number`: counts along training."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.discovery.number.config import Number


def draw_plots(config: Number, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    table = tables["counts"]
    figure = new_figure(min(2.6 * len(config.networks), 10.4) + 1.0, 3.2)
    with style():
        panels = figure.subplots(1, len(config.networks), squeeze=False, sharey=True)[0]
        for axes, network in zip(panels, config.networks, strict=True):
            for colour, kind in zip(COLOURS, config.data, strict=False):
                part = table[(table["network"] == network) & (table["data"] == kind)]
                mean = part.groupby("step")["directions"].mean()
                axes.plot(mean.index, mean, "o-", color=colour, label=kind)
            axes.set_xscale("symlog")
            axes.set(title=network, xlabel="step", ylim=(-0.3, None))
            axes.grid(True)
        panels[0].set_ylabel("directions that keep every loss")
        panels[-1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), title="inputs")
    return [
        Plot(
            name="counts",
            figure=figure,
            title="How many symmetries there are, during training and with symmetric data",
            source="Sec. 6",
            alt="For every network the mean number of directions that keep every loss against steps, "
            "one line for each kind of inputs.",
            caption="Means over seeds. Directions at the parameters reached, for all data of the kind: an "
            "upper bound for the dimension of an orbit of symmetries that ignore the data.",
        )
    ]
