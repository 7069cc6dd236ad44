"""Forecasts of several networks as the terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from symscope.cli._output import results_console

if TYPE_CHECKING:
    from symscope.forecasting import Forecast


def print_comparison(forecasts: Sequence[Forecast]) -> None:
    """What was found in words, and the verdicts as a table."""
    from symscope.cli._tables import simple_table
    from symscope.forecasting import lead, verdict_table

    console = results_console()
    verdicts = verdict_table(forecasts)
    console.print(lead(forecasts), soft_wrap=True)
    console.print()
    console.print(simple_table(verdicts.caption, verdicts.columns, verdicts.rows))
    console.print()
    for found in forecasts:
        for caution in found.cautions:
            console.print(f"Caution, {found.model.name}: {caution}", soft_wrap=True)
