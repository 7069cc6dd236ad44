"""What docs/results/forecast.md says of forecasts asked in seconds: kept runs of `forecast/budgets`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.tooling.keep_results import small_png
from symscope.report import figure_bytes
from symscope_papers.forecast.bank.scores import CASE, merit
from symscope_papers.forecast.budgets.claims import LEAST_HELD, LEAST_RANKS, MOST_HELD, MOST_RATIO
from symscope_papers.forecast.budgets.figures import scatter_plot
from symscope_papers.forecast.budgets.scores import budget_merits, matched_forecasts

TABLES = ("cases", "trained", "asked", "forecasts")
LENGTHS = {"minutes": "ten seconds to six minutes", "seconds": "two to sixteen seconds"}
SHARE = 0.1  # of the time, that errors by network are shown of


def budgets_section(tables: dict[str, pd.DataFrame]) -> str:
    """The results by length of the trainings, and by network."""
    cases = tables["cases"]
    parts = [HEAD.format(cases=len(cases), held=int(cases["held_out"].sum()))]
    for length, words in LENGTHS.items():
        mine = {name: table[table["length"] == length] for name, table in tables.items()}
        if len(mine["asked"]):
            parts += [f"\nWhole trainings of {words} each:\n", _merit_lines(mine)]
    parts += [f"\nBy network, at {SHARE:.0%} of the time:\n", _network_lines(tables), FIGURE]
    return "\n".join(parts)


def keep_figure(tables: dict[str, pd.DataFrame], folder: Path) -> None:
    """Writes forecasts against trainings, of all cases."""
    plot = scatter_plot(matched_forecasts(tables), budget_merits(tables))
    (folder / "forecast-budgets.png").write_bytes(small_png(figure_bytes(plot.figure, "png")))


def _merit_lines(tables: dict[str, pd.DataFrame]) -> str:
    lines = [
        "| cases | time | pilots alone | error | two trainings | ratio | another optimiser | ratio | rank "
        "correlation | intervals hold | refused | time over budget |",
        "| --- | ---: |" + " ---: |" * 10,
    ]
    for part in ("held out", "all"):
        for share, one in sorted(budget_merits(tables, part).items(), reverse=True):
            found, other = one.merit, one.other_floor
            lines.append(
                f"| {found.cases} {part} | {share:.0%} | {one.pilots:.1%} | {found.error:.3f} | "
                f"{found.floor:.3f} | "
                f"{_marked(found.ratio, share)} | {other:.3f} | {found.error / other:.2f} | "
                f"{found.ranks:.2f}{_mark(found.ranks >= LEAST_RANKS)} | "
                f"{found.covered:.0%}{_mark(LEAST_HELD <= found.covered <= MOST_HELD)} | "
                f"{one.refused} of {one.asked} | {one.time:.2f}, at most {one.longest:.2f} |"
            )
    return "\n".join(lines) + "\n"


def _marked(ratio: float, share: float) -> str:
    """A ratio, and whether it came out as claimed where something was."""
    most = MOST_RATIO.get(share)
    return f"{ratio:.2f}" + ("" if most is None else _mark(ratio <= most))


def _mark(holds: bool) -> str:
    return " ✓" if holds else " ✗"


def _network_lines(tables: dict[str, pd.DataFrame]) -> str:
    rows = matched_forecasts(tables)
    rows = rows[rows["share"] == SHARE]
    lines = [
        "| network | length | error | two trainings | another optimiser | bias | pilot has fitted | cases |",
        "| --- | --- |" + " ---: |" * 6,
    ]
    asked = tables["asked"][tables["asked"]["share"] == SHARE]
    for (network, length), part in rows.groupby(["network", "length"]):
        one, other = merit(part), merit(part.assign(second_accuracy=part["other_accuracy"]))
        mine = asked[(asked["network"] == network) & (asked["length"] == length)]
        held = ", held out" if part["held_out"].all() else ""
        lines.append(
            f"| {network}{held} | {length} | {one.error:.3f} | {one.floor:.3f} | {other.floor:.3f} | "
            f"{one.bias:+.3f} | {mine['fitted'].mean():.0%} | {part.groupby(CASE).ngroups} |"
        )
    return "\n".join(lines) + "\n"


HEAD = """## Asked in seconds, through the front door

`symscope.forecast` as a user calls it, with a budget in seconds and default options, of networks that the
bank does not have: {cases} cases, {held} of them held out
([protocol](forecast-protocol.md#budgets-in-seconds)). The time is a share of that of the whole trainings a
forecast replaces; it pays for transforming samples, for timing, the kernel, the pilot, asking it, and one
remedy or more. Two trainings have the default optimiser and other seeds; beside them stands one with SGD and
momentum, the floor of the bank above. ✓ and ✗ say whether what was claimed came out.

```console
$ OMP_NUM_THREADS=1 symscope reproduce forecast/budgets --preset paper --workers 0 --device cpu
$ OMP_NUM_THREADS=1 symscope reproduce forecast/budgets --preset minutes --workers 0 --device cpu
$ python -m docs.tooling.forecast_bank RUN RUN
```
"""

FIGURE = """
What was claimed of 3 and 10 % of the cost does not come out of 3 and 10 % of the time. The pilot itself has
about half of that (the column "pilots alone"): a remedy, asking and timing take the rest. And where a step of
a small batch takes as long as one of a whole batch, as for small networks on a CPU too, a pilot has far fewer
steps than the whole training, and has often not fitted its data, which the answer says. A budget of the
seconds of several whole trainings runs whole trainings instead.

![Scatter plot of forecasts in shares of the time against trained accuracies.](forecast-budgets.png)
"""
