"""Forecasts of several networks as the terminal shows them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symscope.forecast import Forecast


def print_comparison(forecasts: Sequence[Forecast], report: Path) -> None:
    """What was found in words, the verdicts as a table, and where the page is."""
    from rich.console import Console

    from symscope.cli.tables import simple_table
    from symscope.forecast.comparison import lead, verdict_table

    wide: dict[str, Any] = {} if sys.stdout.isatty() else {"width": 140}
    console = Console(**wide)
    verdicts = verdict_table(forecasts)
    console.print(lead(forecasts), soft_wrap=True)
    console.print()
    console.print(simple_table(verdicts.caption, verdicts.columns, verdicts.rows))
    console.print()
    for found in forecasts:
        for caution in found.cautions:
            console.print(f"Caution, {found.model.name}: {caution}", soft_wrap=True, markup=False)
    console.print(f"Report: {report}", soft_wrap=True)
