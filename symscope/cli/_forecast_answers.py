"""What `symscope forecast` shows: words or numbers on standard output, the page, and the exit status."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from symscope.cli._terminal import print_comparison, print_forecast, results_console

if TYPE_CHECKING:
    from symscope.forecasting import Forecast


def answer_page(result: list[Forecast]) -> str:
    from symscope.forecasting import comparison_page, forecast_page

    command = shlex.join(["symscope", *sys.argv[1:]])
    return comparison_page(result, command) if len(result) > 1 else forecast_page(result[0], command)


def show_answers(result: list[Forecast], page: str, out: Path, several: bool) -> None:
    """Words on standard output and the page, or numbers where there is no page: a list for several."""
    from symscope.report import write_page

    if not page:
        data = [one.to_dict() for one in result]
        print(json.dumps(data if several else data[0], indent=1, allow_nan=False, ensure_ascii=False))
        return
    if len(result) > 1:
        print_comparison(result)
    else:
        print_forecast(result[0])
    write_page(page, out)
    results_console().print(f"Report: {out}", soft_wrap=True)


def check_reached(forecasts: list[Forecast], fail_below: float) -> None:
    """Ends the program with status 1 if any network stays below."""
    below = False
    for result in forecasts:
        reached = result.accuracy
        if result.check is not None:
            reached = result.check.accuracy
        if reached < fail_below:
            below = True
            whose = f"{result.model.name}: " if len(forecasts) > 1 else ""
            words = f"{result.question.task.words.goal} {reached:.3f} is below {fail_below:g}"
            print(f"symscope: {whose}{words} (--fail-below)", file=sys.stderr)
    if below:
        raise typer.Exit(1)
