"""`symscope forecast`: will your network learn this symmetry? A verdict, a page, and numbers for programs."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symscope.cli._terminal import (
    Data,
    Group,
    Page,
    Seed,
    check_page_path,
    print_comparison,
    print_forecast,
    results_console,
)
from symscope.errors import InputError, nearest

if TYPE_CHECKING:
    from symscope.data import Action
    from symscope.forecasting import CheckOptions, Forecast


def forecast(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NETWORK",
            help="mlp, conv-fc, conv-gap, vit; or your own MODULE:FUNCTION or FILE.py:FUNCTION, which takes "
            "nothing, or a seed, and returns an nn.Module. Several: one page that compares them. Default: "
            "mlp.",
        ),
    ] = None,
    data: Data = "sample",
    task: Annotated[
        str,
        typer.Option(
            "--task",
            metavar="TASK",
            help="auto, classification or regression; auto: whole numbers and words y are classes, others "
            "are numbers to predict, which no transformation changes.",
        ),
    ] = "auto",
    group: Group = "C8",
    action: Annotated[
        str,
        typer.Option(
            "--action",
            "-a",
            metavar="ACTION",
            help="How it acts: `symscope list actions`, or your own MODULE:FUNCTION (g, x) -> g x. Default: "
            "rotation for C<n>, dihedral for D<n>, shift for C<n>xC<m>, nodes for S<n>.",
        ),
    ] = "",
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="CLASS:ELEMENTS",
            help="Elements that your training data lacks of a class, such as 5:0,1 or cats:0; all at once. "
            "Default: each class in turn lacks the identity. Numbers to predict: fifths, 0 (lowest) to 4.",
        ),
    ] = None,
    target: Annotated[
        float,
        typer.Option(
            "--target", metavar="SHARE", help="Accuracy, or explained variation, that is good enough."
        ),
    ] = 0.9,
    train: Annotated[bool, typer.Option("--train", help="Check the forecast by training.")] = False,
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs", metavar="N", help="Epochs of the check; default: 25, or as many as make 600 steps."
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", metavar="N", help="Points per step of the check; default: 32.")
    ] = None,
    optimiser: Annotated[
        str,
        typer.Option(
            "--optimiser",
            "--optimizer",
            metavar="NAME:RATE",
            help="Optimiser of the check: adam:1e-3, sgd:0.02; default: chosen for the network.",
        ),
    ] = "",
    pilot_epochs: Annotated[
        int,
        typer.Option(
            "--pilot-epochs",
            metavar="N",
            help="Epochs of a short training that the forecast starts from, say 10; 0: the architecture "
            "alone.",
        ),
    ] = 0,
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="KIND", help="auto, infinite or finite.")
    ] = "auto",
    per_class: Annotated[
        int | None, typer.Option("--per-class", metavar="N", help="Samples of each class; default: 2 to 8.")
    ] = None,
    resamples: Annotated[
        int, typer.Option("--resamples", metavar="N", help="Times samples are drawn anew, for the interval.")
    ] = 3,
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--no-standardise",
            help="Centre each sample and scale it to a mean square of 1; default: images and series, not "
            "point sets, vectors and graphs.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights", metavar="FILE", help="A saved state dict to start from (read with weights_only)."
        ),
    ] = None,
    effort: Annotated[
        float,
        typer.Option("--effort", metavar="FACTOR", help="Factor on the budget of slow kernels, up to 1000."),
    ] = 1.0,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            help="Samples to take from the data: the first of a torch dataset, else some of every class.",
        ),
    ] = None,
    seed: Seed = 0,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="cpu or cuda.")] = "cpu",
    out: Page = Path("forecast.html"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Numbers on standard output instead of words; no page.")
    ] = False,
    fail_below: Annotated[
        float | None,
        typer.Option(
            "--fail-below",
            metavar="SHARE",
            help="Exit with status 1 if the accuracy, or for numbers the explained variation, is below this: "
            "trained with --train, else predicted.",
        ),
    ] = None,
) -> None:
    """Will your network generalise to transformations of a class that it has not seen? Before training it.

    Writes one page: verdict, accuracy by class and transformation, missing cases that will fail, advice with
    numbers, the spectrum, how equivariant each layer is. Your code is imported only where you name it.

    Exit status: 0 done; 1 the accuracy (of any network) is below --fail-below; 2 bad input, with one line
    that says what.

    Examples:

      [cyan]symscope forecast --model mlp --group C8[/cyan]

      [cyan]symscope forecast --model conv-gap --group D4 --train --out page.html[/cyan]

      [cyan]symscope forecast --model nets.py:build --data mine.npz --group D4 --json --fail-below 0.9[/cyan]

      [cyan]symscope forecast --data ages.npz --task regression --group C4[/cyan]

      [cyan]symscope forecast --model mlp --model conv-gap --train[/cyan]     two networks on one page
    """
    from symscope.forecasting import ForecastOptions

    if fail_below is not None and not 0 <= fail_below <= 1:
        raise InputError(f"--fail-below: expected an accuracy from 0 to 1, got {fail_below}")
    if not as_json:
        check_page_path(out)
    arguments = {
        "target": target,
        "train": _check_options(train, epochs, batch, optimiser),
        "weights": weights,
        "options": ForecastOptions(
            kernel=kernel,
            per_class=per_class,
            resamples=resamples,
            pilot_epochs=pilot_epochs,
            standardise=standardise,
            effort=effort,
            seed=seed,
            device=_usable_device(device),
        ),
    }
    asked = _Asked(data, task, group, action, tuple(missing or ()), limit)
    try:
        with redirect_stdout(sys.stderr):  # what the user's code prints is no part of the answer
            result = _forecasts(model or ["mlp"], asked, arguments)
        page = "" if as_json else _page(result)
    except KeyboardInterrupt:
        print("\nsymscope: stopped; nothing was written.", file=sys.stderr)
        raise typer.Exit(130) from None
    _show(result, page, out)
    if fail_below is not None:
        _check_reached(result, fail_below)


@dataclass(frozen=True)
class _Asked:
    """The options that name data and symmetry, as they were typed."""

    data: str
    task: str
    group: str
    action: str
    missing: tuple[str, ...]
    limit: int | None


def _forecasts(models: list[str], asked: _Asked, arguments: dict[str, Any]) -> list[Forecast]:
    from rich.console import Console
    from rich.text import Text

    from symscope.data import as_samples
    from symscope.forecasting import forecast as forecast_of
    from symscope.user_code import load_user_function, user_errors

    if len(set(models)) < len(models):
        raise InputError(f"--model: expected every network once, got {', '.join(models)}")
    samples, names = as_samples(asked.data, asked.task, asked.limit)
    cases = _missing_cases(asked.missing, names)
    acting = _action(asked.group, asked.action, tuple(samples.x.shape[1:]))
    networks: list[Any] = [
        load_user_function("--model", one) if ":" in one or one.endswith(".py") else one for one in models
    ]
    with Console(stderr=True).status("reading") as status:

        def one_forecast(name: str, network: Any) -> Forecast:
            return forecast_of(
                network,
                samples,
                acting,
                missing=cases,
                class_names=names,
                name=name,
                progress=lambda words, done, total: status.update(
                    Text(f"{name}: {words}" + (f", epoch {done} of {total}" if total else ""))
                ),
                **arguments,
            )

        with user_errors("your code", mixed=True):  # it may fail anywhere, training included
            return [one_forecast(name, network) for name, network in zip(models, networks, strict=True)]


def _page(result: list[Forecast]) -> str:
    from symscope.forecasting import comparison_page, forecast_page

    command = shlex.join(["symscope", *sys.argv[1:]])
    return comparison_page(result, command) if len(result) > 1 else forecast_page(result[0], command)


def _show(result: list[Forecast], page: str, out: Path) -> None:
    """Words on standard output and the page, or numbers where there is no page."""
    from symscope.report import write_page

    if not page:
        data = [one.to_dict() for one in result]
        print(json.dumps(data[0] if len(data) == 1 else data, indent=1, allow_nan=False, ensure_ascii=False))
        return
    if len(result) > 1:
        print_comparison(result)
    else:
        print_forecast(result[0])
    write_page(page, out)
    results_console().print(f"Report: {out}", soft_wrap=True)


def _check_reached(forecasts: list[Forecast], fail_below: float) -> None:
    """Ends the program with status 1 if any network stays below."""
    below = False
    for result in forecasts:
        reached = result.accuracy if result.check is None else result.check.accuracy
        if reached < fail_below:
            below = True
            whose = f"{result.model.name}: " if len(forecasts) > 1 else ""
            words = f"{result.question.task.words.goal} {reached:.3f} is below {fail_below:g}"
            print(f"symscope: {whose}{words} (--fail-below)", file=sys.stderr)
    if below:
        raise typer.Exit(1)


def _action(group: str, action: str, shape: tuple[int, ...]) -> Action | str:
    from symscope.data import action_from_source

    if ":" in action and action.partition(":")[0] not in ("rotation", "dihedral"):
        return action_from_source(action, group, shape)
    if group.startswith("flip") and not action:
        return group
    return f"{group} {action}".strip()


def _missing_cases(cases: Sequence[str], names: tuple[str, ...] | None) -> dict[int, list[int]] | None:
    """`5:0,1` and the like, or `cats:0,1` where classes have names."""
    result: dict[int, list[int]] = {}
    for case in cases:
        label, _, elements = case.rpartition(":")
        if names is not None and label and label not in names:
            raise InputError(f"--missing {case}: there is no class {label!r}; {nearest(label, names)}")
        try:
            number = int(label) if names is None else names.index(label)
            result.setdefault(number, []).extend(int(element) for element in elements.split(","))
        except ValueError:
            raise InputError(f"--missing {case}: expected CLASS:ELEMENTS, such as 5:0 or 5:0,1") from None
    return result or None


def _check_options(train: bool, epochs: int | None, batch: int | None, optimiser: str) -> CheckOptions | bool:
    from symscope.forecasting import CheckOptions
    from symscope.training import Optimiser

    if not train:
        given = {"--epochs": epochs, "--batch": batch, "--optimiser": optimiser or None}
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} {value}: it is about the check by training; add --train")
        return False
    batch = 32 if batch is None else batch
    if not optimiser:
        return CheckOptions(epochs, batch)
    kind, _, rate = optimiser.partition(":")
    try:
        speed = float(rate) if rate else (1e-3 if kind == "adam" else 0.02)
    except ValueError:
        raise InputError(f"--optimiser {optimiser}: expected adam or sgd, with the rate: adam:1e-3") from None
    return CheckOptions(epochs, batch, Optimiser(kind, speed, momentum=0.9 if kind == "sgd" else 0.0))


def _usable_device(name: str) -> str:
    import torch

    try:
        torch.zeros(1, device=name).item()  # a device without numbers ("meta") is none
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"--device {name}: PyTorch cannot use it: {str(error).splitlines()[0]}") from error
    return name
