"""`symscope forecast`: will your network learn this symmetry? A verdict, a page, and numbers for programs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symscope.cli._output import accuracy_text, check_page_path, results_console
from symscope.errors import InputError, nearest

if TYPE_CHECKING:
    from symscope.data import Action
    from symscope.forecasting import Forecast, Training


def forecast(
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="mlp, conv-fc, conv-gap, vit; or your own MODULE:FUNCTION or FILE.py:FUNCTION, which takes "
            "nothing, or a seed, and returns an nn.Module. Several: one page that compares them. Default: "
            "mlp.",
        ),
    ] = None,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            help="sample, mnist, FILE.npz (X, y), a folder with a folder of images for each class, or "
            "MODULE:FUNCTION returning a torch dataset.",
        ),
    ] = "sample",
    task: Annotated[
        str,
        typer.Option(
            help="auto, classification or regression; auto: whole numbers and words y are classes, others "
            "are numbers to predict, which no transformation changes.",
        ),
    ] = "auto",
    group: Annotated[str, typer.Option("--group", "-g", help="C8, D4, C14xC14, S4, ...")] = "C8",
    action: Annotated[
        str,
        typer.Option(
            "--action",
            "-a",
            help="How it acts: `symscope list actions`, or your own MODULE:FUNCTION (g, x) -> g x. Default: "
            "rotation for C<n>, dihedral for D<n>, shift for C<n>xC<m>, nodes for S<n>.",
        ),
    ] = "",
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="CLASS:ELEMENTS that your training data lacks, such as 5:0,1 or cats:0; all at once. "
            "Default: each class in turn lacks the identity. Numbers to predict: fifths, 0 (lowest) to 4.",
            metavar="CLASS:ELEMENTS",
        ),
    ] = None,
    target: Annotated[
        float, typer.Option(help="Accuracy, or explained variation, that is good enough.")
    ] = 0.9,
    train: Annotated[bool, typer.Option("--train", help="Check the forecast by training.")] = False,
    epochs: Annotated[
        int | None, typer.Option(help="Of the check; default: 25, or as many as make 600 steps.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Points per step of the check; default: 32.")] = None,
    optimiser: Annotated[
        str, typer.Option(help="Of the check: adam:1e-3, sgd:0.02; default: chosen for the network.")
    ] = "",
    pilot_epochs: Annotated[
        int, typer.Option(help="Let the forecast use a short training, say 10; 0: the architecture alone.")
    ] = 0,
    kernel: Annotated[str, typer.Option(help="auto, infinite or finite.")] = "auto",
    per_class: Annotated[int | None, typer.Option(help="Items of each class; default: 2 to 8.")] = None,
    draws: Annotated[int, typer.Option(help="Draws of items, for the uncertainty.")] = 3,
    weights: Annotated[
        Path | None, typer.Option(help="A saved state dict to start from (read with weights_only).")
    ] = None,
    effort: Annotated[float, typer.Option(help="Multiplies the budget of slow kernels.")] = 1.0,
    limit: Annotated[
        int | None,
        typer.Option(help="Items to take: the first of a torch dataset, of all else some of every class."),
    ] = None,
    seed: Annotated[int, typer.Option(help="All randomness follows from it.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("forecast.html"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Numbers on standard output instead of words; no page.")
    ] = False,
    fail_below: Annotated[
        float | None,
        typer.Option(
            help="Exit with status 1 if the accuracy, or for numbers the explained variation, is below this: "
            "trained with --train, else expected."
        ),
    ] = None,
) -> None:
    """Will your network read transformations of a class that it has not seen? Before training it.

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
    if fail_below is not None and not 0 <= fail_below <= 1:
        raise InputError(f"--fail-below: expected an accuracy from 0 to 1, got {fail_below}")
    if not as_json:
        check_page_path(out)
    check = _training(train, epochs, batch, optimiser)
    options: dict[str, Any] = {
        "target": target,
        "kernel": kernel,
        "per_class": per_class,
        "draws": draws,
        "weights": weights,
        "effort": effort,
        "seed": seed,
        "device": _device(device),
        "pilot_epochs": pilot_epochs,
        "train": check,
    }
    try:
        found = _found(model or ["mlp"], data, task, group, action, missing or [], limit, options)
        page = "" if as_json else _page(found)
    except KeyboardInterrupt:
        print("\nsymscope: stopped; nothing was written.", file=sys.stderr)
        raise typer.Exit(130) from None
    _show(found, page, out)
    if fail_below is not None:
        _check_reached(found, fail_below)


def _page(found: list[Forecast]) -> str:
    from symscope.forecasting import comparison_page, forecast_page

    return comparison_page(found, _command()) if len(found) > 1 else forecast_page(found[0], _command())


def _show(found: list[Forecast], page: str, out: Path) -> None:
    """Words on standard output and the page, or numbers where there is no page."""
    from symscope.cli._forecast_table import print_comparison
    from symscope.forecasting import as_json, verdict
    from symscope.report import write_page

    if not page:
        print(as_json(*found), end="")
        return
    if len(found) > 1:
        print_comparison(found)
    else:
        _print(results_console(), found[0], verdict(found[0]))
    write_page(page, out)
    results_console().print(f"Report: {out}", soft_wrap=True)


def _check_reached(forecasts: list[Forecast], fail_below: float) -> None:
    """Ends the program with status 1 if any network stays below."""
    below = False
    for found in forecasts:
        reached = found.expected if found.outcome is None else found.outcome.accuracy
        if reached < fail_below:
            below = True
            whose = f"{found.model.name}: " if len(forecasts) > 1 else ""
            words = f"{found.problem.task.words.goal} {reached:.3f} is below {fail_below:g}"
            print(f"symscope: {whose}{words} (--fail-below)", file=sys.stderr)
    if below:
        raise typer.Exit(1)


def _found(
    models: list[str],
    data: str,
    task: str,
    group: str,
    action: str,
    missing: list[str],
    limit: int | None,
    options: dict[str, Any],
) -> list[Forecast]:
    from rich.console import Console
    from rich.text import Text

    from symscope.data import data_folder
    from symscope.forecasting import forecast as forecasted
    from symscope.forecasting import named_classes, named_data
    from symscope.networks import is_user_error, load_user_function, user_error

    if len(set(models)) < len(models):
        raise InputError(f"--model: expected every network once, got {', '.join(models)}")
    items = named_data(data, data_folder("mnist"), limit, task)
    names = named_classes(data)
    cases = _missing(missing, names)
    acting = _action(group, action, tuple(items.x.shape[1:]))
    networks: list[Any] = [load_user_function("--model", one) if ":" in one else one for one in models]
    with Console(stderr=True).status("reading") as status:

        def asked(name: str, network: Any) -> Forecast:
            return forecasted(
                network,
                items,
                acting,
                missing=cases,
                class_names=names,
                name=name,
                stage=lambda words: status.update(Text(f"{name}: {words}")),
                progress=lambda words, done, total: status.update(
                    Text(f"{name}: {words}, epoch {done} of {total}")
                ),
                **options,
            )

        try:
            return [asked(name, network) for name, network in zip(models, networks, strict=True)]
        except InputError:
            raise
        except (Exception, SystemExit) as error:  # a user's code may fail anywhere, training included
            if isinstance(error, SystemExit) or is_user_error(error):
                raise user_error("your code", error) from error
            raise


def _action(group: str, action: str, shape: tuple[int, ...]) -> Action | str:
    from symscope.forecasting import named_own_action

    if ":" in action and action.partition(":")[0] not in ("rotation", "dihedral"):
        return named_own_action(action, group, shape)
    if group.startswith("flip") and not action:
        return group
    return f"{group} {action}".strip()


def _missing(cases: list[str], names: tuple[str, ...] | None) -> dict[int, list[int]] | None:
    """`5:0,1` and the like, or `cats:0,1` where classes have names."""
    found: dict[int, list[int]] = {}
    for case in cases:
        label, _, elements = case.rpartition(":")
        if names is not None and label and label not in names:
            raise InputError(f"--missing {case}: there is no class {label!r}; {nearest(label, names)}")
        try:
            number = int(label) if names is None else names.index(label)
            found.setdefault(number, []).extend(int(element) for element in elements.split(","))
        except ValueError:
            raise InputError(f"--missing {case}: expected CLASS:ELEMENTS, such as 5:0 or 5:0,1") from None
    return found or None


def _training(train: bool, epochs: int | None, batch: int | None, optimiser: str) -> Training | bool:
    from symscope.forecasting import Training
    from symscope.training import Optimiser

    if not train:
        given = {"--epochs": epochs, "--batch": batch, "--optimiser": optimiser or None}
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} {value}: it is about the check by training; add --train")
        return False
    batch = 32 if batch is None else batch
    if not optimiser:
        return Training(epochs, batch)
    kind, _, rate = optimiser.partition(":")
    try:
        speed = float(rate) if rate else (1e-3 if kind == "adam" else 0.02)
    except ValueError:
        raise InputError(f"--optimiser {optimiser}: expected adam or sgd, with the rate: adam:1e-3") from None
    return Training(epochs, batch, Optimiser(kind, speed, momentum=0.9 if kind == "sgd" else 0.0))


def _device(name: str) -> str:
    import torch

    try:
        torch.zeros(1, device=name).item()  # a device without numbers ("meta") is none
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"--device {name}: PyTorch cannot use it: {str(error).splitlines()[0]}") from error
    return name


def _command() -> str:
    return shlex.join(["symscope", *sys.argv[1:]])


def _print(console: Any, found: Forecast, words: str) -> None:
    from symscope.cli._tables import simple_table

    console.print(words, soft_wrap=True)
    console.print()
    rows = []
    terms = found.problem.task.words
    for c, name in enumerate(found.problem.class_names):
        row = [name, accuracy_text(float(found.class_accuracy.mean(0)[c]))]
        if found.pilot is not None:
            row.append(accuracy_text(float(found.pilot.class_accuracy[c])))
        if found.outcome is not None:
            row.append(accuracy_text(float(found.outcome.class_accuracy[c])))
        rows.append(tuple(row))
    columns = [terms.one, "forecast" if found.pilot is None else "architecture"]
    columns += ["pilot"] if found.pilot is not None else []
    columns += ["trained"] if found.outcome is not None else []
    console.print(simple_table(terms.heading, columns, rows))
    console.print()
    listed = [(one.text, f"{one.accuracy:.2f}", f"{one.gain:+.2f}") for one in found.advice]
    console.print(simple_table("Advice", ("what", "then", "gain"), listed))
    for caution in found.cautions:
        console.print(f"Caution: {caution}", soft_wrap=True)
    for note in found.notes:
        console.print(f"Note: {note}", soft_wrap=True)
