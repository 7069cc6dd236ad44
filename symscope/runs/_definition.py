"""What an experiment is: a frozen config with presets, cells, a pure function of a cell, plots and claims."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from symscope.errors import InputError
from symscope.numerics import check_count
from symscope.runs._claims import Claim

if TYPE_CHECKING:
    import pandas as pd

Parameters = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]
CellResults = Mapping[str, Rows]
RunTables = Mapping[str, "pd.DataFrame"]


@final
@dataclass(frozen=True)
class CellContext:
    """What a cell is given besides its config and parameters.

    Attributes:
        seed: This cell's own seed, made from the run's seed and the cell's parameters: the same whatever
            worker runs it, in whatever order. torch's global generator is seeded with it before the cell.
        run_seed: The seed of the whole run, for what cells must share (the same data, say).
        device: "cpu" or "cuda".
    """

    seed: int
    run_seed: int
    device: str


@final
@dataclass(frozen=True)
class Preset:
    """A config under a name.

    Attributes:
        config: The config.
        cost: What it costs in words ("2 s on two cores").
        differences: Where it differs from what the paper states, a sentence each; for what the authors'
            scripts do, and for readings of settings that the paper leaves open.
    """

    config: Any
    cost: str
    differences: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Plot:
    """One figure of an experiment.

    Attributes:
        name: File name without ending: small letters, digits, dashes.
        figure: A matplotlib figure (`symscope.report.new_figure`).
        title: Heading above it.
        source: The paper's figure it answers, "Fig. 3B".
        alt: What it shows, for those who cannot see it.
        caption: What to see in it.
    """

    name: str
    figure: Any
    title: str
    source: str
    alt: str
    caption: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise InputError(f"a plot's name is small letters, digits and dashes, got {self.name!r}")
        if not self.alt.strip():
            raise InputError(f"plot {self.name!r} needs an alt text that says what it shows")


@final
@dataclass(frozen=True)
class Experiment:
    """An experiment, complete: whatever module holds one at its top level registers it.

    Attributes:
        id: "family/name", small letters, digits and dashes.
        paper: The paper's title.
        figure: The paper's figures it answers, "Fig. 3A-C".
        shows: What it shows, in one sentence.
        config: A frozen dataclass; its fields are numbers, strings, booleans and tuples of them.
        presets: At least `quick` (minutes on two cores) and `paper` (what the paper states); `authors` is
            what the authors' scripts do where that differs.
        cells: `config -> parameters of each independent unit of work`, in the order tables are written.
        measure: `(config, cell, context) -> {table: rows}`; pure: the same arguments give the same
            rows. The cell's parameters are added to every row.
        plot: `(config, tables) -> figures`.
        claims: `(config, tables) -> claims`.
        threads: Threads of one cell. Fixed here, not chosen from the machine, because it changes rounding.
        version: Raise it when results change: older runs are then not continued.
    """

    id: str
    paper: str
    figure: str
    shows: str
    config: type
    presets: Mapping[str, Preset]
    cells: Callable[[Any], Sequence[Parameters]]
    measure: Callable[[Any, Parameters, CellContext], CellResults]
    plot: Callable[[Any, RunTables], Sequence[Plot]]
    claims: Callable[[Any, RunTables], Sequence[Claim]]
    threads: int = 1
    version: int = 1

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*", self.id):
            raise InputError(
                f"an experiment's id is family/name in small letters, digits, dashes; got {self.id!r}"
            )
        frozen = dataclasses.is_dataclass(self.config) and self.config.__dataclass_params__.frozen  # type: ignore[attr-defined]
        if not frozen:
            raise InputError(f"{self.id}: config must be a frozen dataclass, got {self.config!r}")
        missing = {"quick", "paper"} - set(self.presets)
        if missing:
            raise InputError(
                f"{self.id}: presets quick and paper are needed, missing: {', '.join(sorted(missing))}"
            )
        for name, preset in self.presets.items():
            if not isinstance(preset.config, self.config):
                raise InputError(
                    f"{self.id}: preset {name!r} must hold a {self.config.__name__}, got "
                    f"{type(preset.config).__name__}"
                )
        check_count(f"{self.id}: threads", self.threads)
        check_count(f"{self.id}: version", self.version)
