"""`symscope forecast`: will your network learn this symmetry? A verdict, a page, and numbers for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symscope.cli._forecast_answers import answer_page, check_reached, show_answers
from symscope.cli._forecast_arguments import own_elements, training_options
from symscope.cli._forecast_progress import ForecastProgress
from symscope.cli._terminal import (
    Data,
    Group,
    Page,
    Seed,
    check_page_path,
    named_action,
    usable_device_name,
)
from symscope.errors import BudgetError, InputError

if TYPE_CHECKING:
    from symscope.forecasting import Forecast


def forecast(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NETWORK",
            help="mlp, conv-fc, conv-gap, vit, deepsets, pointnet, message-passing, conv1d, gru (`symscope "
            "list networks`); or your own MODULE:FUNCTION or FILE.py:FUNCTION, which takes nothing, "
            "or a seed, and returns an nn.Module. Several: one page that compares them. Default: "
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
            "are numbers to predict.",
        ),
    ] = "auto",
    target_action: Annotated[
        str | None,
        typer.Option(
            "--target-action",
            metavar="HOW",
            help="How numbers to predict change with the sample: same; vector (x to the right, y up); image "
            "(maps that move as the samples do); nodes (numbers of each node that is permuted); or your "
            "own FILE.py:FUNCTION (g, y) -> g y. Must be said for vectors of two or three numbers, for maps, "
            "and for as many numbers as nodes.",
            show_default=False,
        ),
    ] = None,
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
    seen: Annotated[
        list[str] | None,
        typer.Option(
            "--seen",
            metavar="CLASSES: ELEMENTS",
            help="What your training data holds of some classes: 'cats: 0°', '3,5: ±45°', '0..90°', "
            "'every 2nd', 'upright', 'once' (each sample once, at random), 'others: all'; other classes hold "
            "everything. "
            "Default: each class in turn lacks the identity.",
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="CLASSES: ELEMENTS",
            help="What it lacks, in the same words. Numbers to predict: 'lowest fifth: 0°'.",
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(
            "--new",
            metavar="SOURCE",
            help="New samples to be asked about, as --data. Default: a fifth of the data is kept apart.",
        ),
    ] = None,
    target: Annotated[
        float,
        typer.Option(
            "--target", metavar="SHARE", help="Accuracy, or explained variation, that is good enough."
        ),
    ] = 0.9,
    train: Annotated[bool, typer.Option("--train", help="Check the forecast by training.")] = False,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Time for the forecast: 30s, 5m, 1h. More means longer pilot trainings; --train is extra.",
        ),
    ] = "60s",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="pilot: short trainings, extrapolated; kernel: the architecture alone; auto: both, as the "
            "budget allows.",
        ),
    ] = "auto",
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            help="Steps of the training that is forecast; default: 25 epochs, 600 to 3,000 steps.",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", help="Points per step; default: 128, for few points 32."),
    ] = None,
    optimiser: Annotated[
        str,
        typer.Option(
            "--optimiser",
            "--optimizer",
            metavar="NAME:RATE",
            help="Optimiser of the training: adam:1e-3, sgd:0.02:0.9 (rate, momentum; 0.9 if not given); "
            "default: chosen for the network.",
        ),
    ] = "",
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples", metavar="N", help="Samples of each class to train on, at most; default: all."
        ),
    ] = None,
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="KIND", help="auto, infinite or finite.")
    ] = "auto",
    per_class: Annotated[
        int | None,
        typer.Option(
            "--per-class", metavar="N", help="Samples of each class for the kernel; default: 2 to 8."
        ),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples", metavar="N", help="Times samples are drawn anew, for the kernel's interval."
        ),
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
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FOLDER",
            help="Keep every finished training in this folder, made if missing; whatever stops a forecast, "
            "the same command goes on.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Local processes that train; default: this one.",
            show_default=False,
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Train on the Dask cluster of this scheduler."),
    ] = None,
    memory: Annotated[
        str,
        typer.Option("--memory", metavar="SIZE", help="For transformed samples and kernels: 2GB, 512MB."),
    ] = "6GB",
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

    Writes one page: verdict, accuracy by class and transformation on new samples and on its own, a price list
    of what to do, cases that will fail, the spectrum, how equivariant each layer is. Your code is imported
    only where you name it.

    Exit status: 0 done; 1 the accuracy (of any network) is below --fail-below; 2 bad input, with one line
    that says what; 130 stopped by Ctrl-C, which shows and writes what was finished by then.

    Examples:

      [cyan]symscope forecast --model mlp --group C8[/cyan]

      [cyan]symscope forecast --model mlp --seen "0,1,2,3,4: upright" --budget 2m[/cyan]     half upright only

      [cyan]symscope forecast --model conv-gap --group D4 --train --out page.html[/cyan]

      [cyan]symscope forecast --model nets.py:build --data mine.npz --group D4 --json --fail-below 0.9[/cyan]

      [cyan]symscope forecast --data ages.npz --task regression --group C4[/cyan]

      [cyan]symscope forecast --data forces.npz --group C8 --target-action vector[/cyan]

      [cyan]symscope forecast --model mlp --model conv-gap --train[/cyan]     two networks on one page

      [cyan]symscope forecast --model nets.py:build --budget 8h --resume trainings --workers 4[/cyan]
    """
    from symscope.forecasting import ForecastOptions, ForecastStopped

    if fail_below is not None and not 0 <= fail_below <= 1:
        raise InputError(f"--fail-below: expected an accuracy from 0 to 1, got {fail_below}")
    if not as_json:
        check_page_path(out)
    arguments = {
        "target": target,
        "train": train,
        "training": training_options(steps, batch, optimiser),
        "seen": seen,
        "missing": missing,
        "weights": weights,
        "options": ForecastOptions(
            budget=budget,
            method=method,
            samples=samples,
            kernel=kernel,
            per_class=per_class,
            resamples=resamples,
            standardise=standardise,
            seed=seed,
            device=usable_device_name(device),
            resume=resume,
            workers=workers,
            dask=dask,
            memory=memory,
        ),
    }
    asked = _Asked(data, task, group, action, new, limit, target_action)
    result: list[Forecast] = []
    refused: list[BudgetError] = []
    stopped, failure = False, None
    with redirect_stdout(sys.stderr):  # what the user's code prints is no part of the answer
        try:
            for one in _forecasts(model or ["mlp"], asked, arguments, refused):
                result.append(one)  # noqa: PERF402  # what is finished stays, whatever comes
        except ForecastStopped as stop:
            result.append(stop.result)
            stopped = True
        except KeyboardInterrupt:
            stopped = True
        except InputError as error:
            if not result:
                raise
            failure = error
    if stopped:
        kept = "nothing was written" if resume is None else f"no answer yet, {resume} keeps what is finished"
        rest = "what was finished by then is shown" if result else kept
        print(f"\nsymscope: stopped; {rest}.", file=sys.stderr)
    for refusal in refused:
        print(f"symscope: left out: {refusal}", file=sys.stderr)
    if result:
        left_out = tuple(f"Left out: {refusal}" for refusal in refused)
        result[0] = replace(result[0], notes=(*result[0].notes, *left_out))
        show_answers(result, "" if as_json else answer_page(result), out, len(model or ["mlp"]) > 1)
    if stopped:
        raise typer.Exit(130)
    if failure is not None:
        raise failure
    if fail_below is not None:
        check_reached(result, fail_below)
        if refused:
            print("symscope: what was left out may be below it (--fail-below)", file=sys.stderr)
            raise typer.Exit(1)


@dataclass(frozen=True)
class _Asked:
    """The options that name data and symmetry, as they were typed."""

    data: str
    task: str
    group: str
    action: str
    new: str | None
    limit: int | None
    target_action: str | None


def _forecasts(
    models: list[str], asked: _Asked, arguments: dict[str, Any], refused: list[BudgetError]
) -> Iterator[Forecast]:
    """The forecast of each network, as it is finished; of several, those that the budget refuses are listed.

    Raises:
        BudgetError: The budget is too small for every network.
    """
    from symscope.data import as_samples
    from symscope.forecasting import forecast as forecast_of
    from symscope.user_code import load_user_function, user_errors

    if len(set(models)) < len(models):
        raise InputError(f"--model: expected every network once, got {', '.join(models)}")
    samples, names = as_samples(asked.data, asked.task, asked.limit)
    elements = own_elements(asked.data, asked.limit)
    acting = named_action(asked.group, asked.action, tuple(samples.x.shape[1:]))
    moving: Any = asked.target_action
    if moving is not None and ":" in moving:
        moving = load_user_function("--target-action", moving)
    networks: list[Any] = [
        load_user_function("--model", one) if ":" in one or one.endswith(".py") else one for one in models
    ]
    with ForecastProgress() as progress:
        for name, network in zip(models, networks, strict=True):
            try:
                with user_errors("your code", mixed=True):  # it may fail anywhere, training included
                    result = forecast_of(
                        network,
                        samples,
                        acting,
                        new=asked.new,
                        target_action=moving,
                        elements=elements,
                        class_names=names,
                        name=name,
                        progress=partial(progress, name),
                        **arguments,
                    )
            except BudgetError as error:
                if len(refused) == len(models) - 1:
                    raise
                refused.append(error)
                continue
            except InputError as error:
                raise (
                    error if len(models) == 1 or name in str(error) else InputError(f"{name}: {error}")
                ) from error
            yield result
