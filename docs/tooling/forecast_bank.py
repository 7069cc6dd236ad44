"""Add runs of `forecast/bank` to the bank, fit the library's correction, write docs/results/forecast.md.

python -m docs.tooling.forecast_bank [RUN...]

RUN is the folder of a run: its finished cases are taken; one that is in the bank already is replaced. Runs of
`forecast/budgets` are kept beside the bank; no fit uses them. The last lines printed are the numbers of
symscope/forecasting/_learned_forecast.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from docs.tooling import forecast_budgets
from docs.tooling.keep_results import small_png
from symscope.report import figure_bytes
from symscope.runs import RunFolder, RunRequest
from symscope_papers.forecast.bank.audits import audits_section
from symscope_papers.forecast.bank.config import bank_cases
from symscope_papers.forecast.bank.correction import (
    all_forecasts,
    correction_rows,
    fit_weights,
    fit_widths,
    held_out,
    left_out,
)
from symscope_papers.forecast.bank.data import DATASETS
from symscope_papers.forecast.bank.figures import bank_plots
from symscope_papers.forecast.bank.kinds import EXPORTED
from symscope_papers.forecast.bank.networks import NETWORKS
from symscope_papers.forecast.bank.scores import CASE, Merit, decisions, learned_cases, merit, merits
from symscope_papers.forecast.coverages import COVERAGES

RESULTS = Path(__file__).parents[1] / "results"
TABLES = ("cases", "pilots", "trained", "baselines", "remedies", "audits")
COSTS = (0.1, 0.03, 0.01)
OTHER_KINDS = ("pulses", "graphs", "noisy", *EXPORTED)  # added to the protocol later
UNSEEN = {"network": "network", "data": "data set", "action": "group"}
WORDS = {**NETWORKS, **DATASETS, **COVERAGES}


def read_bank(folder: Path = RESULTS / "forecast-bank") -> dict[str, pd.DataFrame]:
    """The tables of the bank."""
    return read_tables(folder, TABLES)


def read_tables(folder: Path, names: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    """Kept tables; none of those that are not there."""
    files = {name: folder / f"{name}.parquet" for name in names}
    return {name: pd.read_parquet(file) for name, file in files.items() if file.exists()}


def _write(folder: Path, tables: dict[str, pd.DataFrame]) -> None:
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet", index=False)


def _with_cases(
    kept: dict[str, pd.DataFrame], tables: dict[str, pd.DataFrame], names: tuple[str, ...]
) -> dict[str, pd.DataFrame]:
    """Kept tables with the cases of others, which replace those they have."""
    keys = pd.MultiIndex.from_frame(tables["cases"][CASE])
    renewed = {}
    for name in names:
        if name not in tables:
            continue
        old = kept.get(name)
        if old is not None:
            old = old[~pd.MultiIndex.from_frame(old[CASE]).isin(keys)]
        both = pd.concat([old, tables[name]], ignore_index=True)
        renewed[name] = both.sort_values(CASE, kind="stable", ignore_index=True)
    return kept | renewed


def add_runs(bank: dict[str, pd.DataFrame], runs: list[Path]) -> dict[str, pd.DataFrame]:
    """The bank with the cases of some runs, which replace those it has."""
    for run in runs:
        tables = finished_tables(run)
        bank = _with_cases(bank, tables, TABLES) if "cases" in tables else _with_forecasts(bank, tables)
    return bank


def _with_forecasts(
    bank: dict[str, pd.DataFrame], tables: dict[str, pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """The bank with forecasts that were made anew, for cases whose trainings it has."""
    known = pd.MultiIndex.from_frame(bank["cases"][CASE])
    pilots = tables["pilots"]
    pilots = pilots[pd.MultiIndex.from_frame(pilots[CASE]).isin(known)]
    keys, old = pd.MultiIndex.from_frame(pilots[CASE]), bank["pilots"]
    old = old[~pd.MultiIndex.from_frame(old[CASE]).isin(keys)].reindex(columns=pilots.columns)
    both = pd.concat([old, pilots], ignore_index=True)
    renewed = {"pilots": both.sort_values(CASE, kind="stable", ignore_index=True)}
    for name, part, key, column in (
        ("remedies", "advice", [*CASE, "remedy"], "forecast"),
        ("cases", "seconds", CASE, "forecast_seconds"),
    ):
        new = tables[part].set_index(key)[column]
        index = pd.MultiIndex.from_frame(bank[name][key])
        values = pd.Series(new.reindex(index).to_numpy(), index=bank[name].index)
        renewed[name] = bank[name].assign(**{column: values.fillna(bank[name][column])})
    return bank | renewed


def finished_tables(run: Path) -> dict[str, pd.DataFrame]:
    """The tables of the cells of a run that are done, whether the run is finished or not."""
    folder, tables = RunFolder(run), dict[str, list[pd.DataFrame]]()
    for task in RunRequest.from_folder(run, continued=False).tasks():
        record = folder.cell(task.key)
        if record is not None and record["status"] == "done":
            for name, columns in record["tables"].items():
                tables.setdefault(name, []).append(pd.DataFrame(columns))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}


def main(runs: list[Path]) -> None:
    budget_runs = [run for run in runs if _is_of_budgets(run)]
    bank = add_runs(read_bank(), [run for run in runs if run not in budget_runs])
    _write(RESULTS / "forecast-bank", bank)
    budgets = read_tables(RESULTS / "forecast-budgets", forecast_budgets.TABLES)
    for run in budget_runs:
        budgets = _with_cases(budgets, finished_tables(run), forecast_budgets.TABLES)
    _write(RESULTS / "forecast-budgets", budgets)
    if budgets:
        forecast_budgets.keep_figure(budgets, RESULTS)
    for plot in bank_plots(all_forecasts(bank, "network"), max(COSTS)):
        picture = figure_bytes(plot.figure, "png")
        (RESULTS / f"forecast-{plot.name}.png").write_bytes(small_png(picture))
    (RESULTS / "forecast.md").write_text(page(bank, budgets), encoding="utf-8")
    rows = correction_rows(bank)
    rows = rows[~held_out(rows)]
    widths = fit_widths(rows, left_out(rows, "network"))
    print("WEIGHTS = (" + ", ".join(f"{one:.2f}" for one in fit_weights(rows)) + ")")
    print(f"WIDTH, FURTHER_WIDTH = {widths.whole:.2f}, {widths.further:.2f}")
    print(f"SHARED = {widths.shared:.2f}")


def with_forecasts(bank: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The cases of the bank that have forecasts of the present form."""
    keys = pd.MultiIndex.from_frame(bank["pilots"][CASE]).unique()
    return {name: one[pd.MultiIndex.from_frame(one[CASE]).isin(keys)] for name, one in bank.items()}


def _is_of_budgets(run: Path) -> bool:
    return RunRequest.from_folder(run, continued=False).experiment.id == "forecast/budgets"


def page(bank: dict[str, pd.DataFrame], budgets: dict[str, pd.DataFrame]) -> str:
    """The page of the results."""
    bank = with_forecasts(bank)
    rows = all_forecasts(bank, "network")
    held = held_out(rows)
    tables = {name: table[~held_out(table)] for name, table in bank.items()}
    cases, large = bank["cases"], int((bank["cases"]["samples"] >= 400).sum())
    fitted = int((~held_out(cases)).sum())
    seconds = _seconds(cases[~cases["data"].isin(OTHER_KINDS)])
    parts = [
        HEAD.format(
            cases=len(cases),
            listed=len(bank_cases()),
            large=large,
            fitted=fitted,
            held=len(cases) - fitted,
            learned=len(learned_cases(bank)),
        ),
        _claimed(rows[~held], "cases that the fit may use, each forecast by a fit without its network"),
        _claimed(rows[held], "cases that are held out"),
        _parts(rows[held]),
        "Seconds of all three forecasts and of an augmented pilot, together, over those of the two "
        f"trainings of the check: {seconds:.2f}, of the first list, most of whose trainings ran on a GPU, as "
        "all forecasts did, twelve at a time beside other work; there small batches save no time.\n",
        *([forecast_budgets.budgets_section(budgets)] if budgets else []),
        SWEEPS,
        _sweeps(rows),
        "## What was left out of the fit\n",
        _unseen(bank),
        "## Every forecast and baseline\n",
        _merit_table(merits(rows[~held])),
        FIGURES,
        "## Where forecasts at 10 % of the cost fail\n",
        *[_by(rows[~held], column) for column in ("network", "data", "action", "coverage", "samples")],
        "## Advice\n",
        _advice(tables),
        *([audits_section(bank["audits"], bank["cases"])] if "audits" in bank else []),
        TAIL,
    ]
    return "\n".join(parts)


def _claimed(rows: pd.DataFrame, what: str) -> str:
    if rows.empty:
        return f"\nOf {what}: none is measured yet.\n"
    table = merits(rows)
    lines = [
        f"\nOf {what}:\n",
        "| cost | error | two trainings | ratio | claimed | rank correlation | intervals hold | width |",
    ]
    lines.append("| --- |" + " ---: |" * 7)
    for cost, most in zip(COSTS, ("1.2", "2", "–"), strict=True):
        one = table[f"forecast {cost:.0%}"]
        lines.append(
            f"| {cost:.0%} | {one.error:.3f} | {one.floor:.3f} | {one.ratio:.2f} | {most} | "
            f"{one.ranks:.2f} | {one.covered:.0%} | {one.width:.2f} |"
        )
    return "\n".join(lines) + f"\n\n{one.cases} cases.\n"


def _seconds(cases: pd.DataFrame) -> float:
    """Seconds of forecasts over those of trainings."""
    return float(cases["forecast_seconds"].sum() / cases["training_seconds"].sum())


def _parts(rows: pd.DataFrame) -> str:
    """Held-out cases by when they were written: the first list, and the other kinds of data."""
    other = rows["data"].isin(OTHER_KINDS)
    words = []
    for part, name in ((rows[~other], "the first list"), (rows[other], "the other kinds of data")):
        if len(part):
            table = merits(part)
            ratios = " and ".join(f"{table[f'forecast {cost:.0%}'].ratio:.2f}" for cost in COSTS[:2])
            words.append(f"{table[f'forecast {COSTS[0]:.0%}'].cases} of {name}: {ratios}")
    return "Ratios at 10 % and 3 % by part: " + "; ".join(words) + ".\n"


def _sweeps(rows: pd.DataFrame) -> str:
    """The error of every forecast of the sweeps over the digits at C8 with 400 samples, by network."""
    asked = {"data": "mnist", "action": "C8", "coverage": "one", "samples": 400}
    rows = rows[(rows[list(asked)] == pd.Series(asked)).all(axis=1)]
    networks = [name for name in NETWORKS if name in set(rows["network"])]
    lines = ["| forecast | " + " | ".join(WORDS[name] for name in networks) + " |"]
    lines.append("| --- |" + " ---: |" * len(networks))
    tables = {name: merits(rows[rows["network"] == name]) for name in networks}
    floors = [f"{next(iter(tables[name].values())).floor:.3f}" for name in networks]
    lines.append(f"| another optimiser and seed | {' | '.join(floors)} |")
    for kind in dict.fromkeys(rows["forecast_of"]):
        errors = [f"{tables[name][kind].error:.3f}" if kind in tables[name] else "" for name in networks]
        lines.append(f"| {kind} | {' | '.join(errors)} |")
    return "\n".join(lines) + "\n"


def _unseen(bank: dict[str, pd.DataFrame]) -> str:
    """Errors by what was left out."""
    lines = ["| left out of the fit, one at a time | 10 % | 3 % | 1 % |", "| --- | ---: | ---: | ---: |"]
    for column, word in UNSEEN.items():
        rows = all_forecasts(bank, column)
        table = merits(rows[~held_out(rows)])
        errors = " | ".join(f"{table[f'forecast {cost:.0%}'].error:.3f}" for cost in COSTS)
        lines.append(f"| a {word} | {errors} |")
    return "\n".join(lines) + "\n"


def _merit_table(table: dict[str, Merit]) -> str:
    lines = [
        "| forecast | error | two trainings | ratio | bias | rank correlation | cases |",
        "| --- |" + " ---: |" * 6,
    ]
    for name, one in sorted(table.items(), key=lambda item: item[1].ratio):
        ranks = "" if one.ranks != one.ranks else f"{one.ranks:.2f}"
        lines.append(
            f"| {name} | {one.error:.3f} | {one.floor:.3f} | {one.ratio:.2f} | {one.bias:+.3f} | {ranks} | "
            f"{one.cases} |"
        )
    return "\n".join(lines) + "\n"


def _by(rows: pd.DataFrame, column: str) -> str:
    rows = rows[rows["forecast_of"] == "forecast 10%"]
    lines = [
        f"| {column} | error | two trainings | bias | intervals hold | cases |",
        "| --- |" + " ---: |" * 5,
    ]
    for name, part in rows.groupby(column, sort=column == "samples"):
        one = merit(part)
        words = WORDS.get(str(name), str(name))
        lines.append(
            f"| {words} | {one.error:.3f} | {one.floor:.3f} | {one.bias:+.3f} | {one.covered:.0%} | "
            f"{one.cases} |"
        )
    return "\n".join(lines) + "\n"


def _advice(tables: dict[str, pd.DataFrame]) -> str:
    rows = decisions(tables)
    wrong = rows[~rows["right"]]
    lines = [
        f"In {int(rows['right'].sum())} of {len(rows)} cases the remedy that the forecast puts first (none, "
        "averaging over the group, augmentation with all elements) was the best when trained, to within the "
        "noise floor.",
    ]
    if len(wrong):
        lines += ["", "| wrong in | advised | best |", "| --- | --- | --- |"]
        lines += [
            f"| {', '.join(str(row[name]) for name in CASE)} | {row['advised']} | {row['best']} |"
            for _, row in wrong.iterrows()
        ]
    return "\n".join(lines) + "\n"


HEAD = """# How good are forecasts?

Forecasts of `symscope forecast`, made before training, against what networks then did: {cases} of the
{listed} cases of [the protocol](forecast-protocol.md), {large} of them with 400 samples of each class or
more; Fashion-MNIST was not at hand when forecasts were last made anew. {fitted} may be used by the fit of
the correction, {held} are held out. In {learned} cases both trainings learned what they were shown.

```console
$ symscope reproduce forecast/bank --preset paper --set fashion=FOLDER --set cifar=FOLDER \\
  --set exported=FOLDER
$ python -m docs.tooling.forecast_bank RUN
```

The first command resumes, and takes time in pieces; the second adds a finished run to the bank
(`docs/results/forecast-bank/*.parquet`) and writes this page.

## Claims and results

Mean absolute difference of the forecast accuracy of a class, on new samples at transformations the
training data lacks, from two trainings, beside the difference between the two; a case counts once.
"""

SWEEPS = """## Digits at eight angles, 400 samples of each, every class in turn without its upright ones

The error of each forecast of new samples, by network; at 10 % of the cost, three interleaved trainings, each
compressed to a quarter of a whole one, stand for ten whole ones.
"""

FIGURES = """
![Scatter plot of forecast accuracies of classes against those of trained networks.](forecast-scatter.png)

![Bar chart of the error of every forecast and baseline, beside the noise floor.](forecast-errors.png)

![Bar charts of the error by network, data, action, coverage and samples.](forecast-where.png)
"""

TAIL = """## Where it falls short

Mirror images, samples that are seen once each, and networks that average over positions go on learning long
after a pilot ends; forecasts of them are furthest off.

Cost counts points that pass through a network. Where a step of a small batch takes as long as one of a whole
batch, as on a GPU for most networks of the bank, such a pilot takes a larger share of the seconds (above);
`symscope forecast` then keeps the batch and raises the learning rate alone. Pilots of that kind, a tenth of
the steps at 3 times the learning rate, were 0.074 off in 69 cases where compressed ones were 0.057 off and
plain ones 0.114, all before any correction and with last layers as they were trained.
"""


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]])
