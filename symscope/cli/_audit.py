"""`symscope audit`: why is a trained network not symmetric? The causes, a page, and numbers for programs."""

from __future__ import annotations

import json
import math
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symscope.cli._forecast_progress import ForecastProgress
from symscope.cli._terminal import (
    Data,
    Group,
    Page,
    Seed,
    check_page_path,
    named_action,
    results_console,
    simple_table,
    usable_device_name,
)
from symscope.errors import InputError

if TYPE_CHECKING:
    from symscope.auditing import Audit


def audit(
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NETWORK",
            help="The function that builds your network: MODULE:FUNCTION or FILE.py:FUNCTION, which takes "
            "nothing, or a seed; or a name, `symscope list networks`.",
        ),
    ],
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            metavar="FILE",
            help="Its trained weights: torch.save(network.state_dict(), FILE), read with weights_only. "
            "Default: as it is built.",
        ),
    ] = None,
    data: Data = "sample",
    task: Annotated[
        str, typer.Option("--task", metavar="TASK", help="auto, classification or regression.")
    ] = "auto",
    group: Group = "C8",
    action: Annotated[
        str,
        typer.Option(
            "--action",
            "-a",
            metavar="ACTION",
            help="How it acts on samples: `symscope list actions`, or your own MODULE:FUNCTION (g, x) -> g "
            "x. Default: rotation for C<n>, dihedral for D<n>, shift for C<n>xC<m>, nodes for S<n>.",
        ),
    ] = "",
    target_action: Annotated[
        str,
        typer.Option(
            "--target-action",
            metavar="ACTION",
            help="How it acts on outputs: same (they do not change), image (they have positions), vector "
            "(their last axis is x and y), or your own MODULE:FUNCTION (g, y) -> g y. Default: same; image "
            "where labels are masks.",
        ),
    ] = "",
    class_names: Annotated[
        str,
        typer.Option(
            "--class-names",
            metavar="A,B,...",
            help="Names of the network's outputs in their order, where labels are words; default: "
            "alphabetical, as folders of images are read.",
        ),
    ] = "",
    augmented: Annotated[
        bool,
        typer.Option("--augmented", help="It was trained on samples moved by random elements of the group."),
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Samples to take from the data, at most.")
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            metavar="S",
            help="Time for forward passes, which decides how many samples are used; remedies take half as "
            "long again.",
        ),
    ] = 120.0,
    seed: Seed = 0,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="cpu or cuda.")] = "cpu",
    out: Page = Path("audit.html"),
    save_to: Annotated[
        Path | None,
        typer.Option(
            "--save-repaired",
            metavar="FILE",
            help="File for the network after the best remedy, which auditing.repairs.load_repaired reads.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Numbers on standard output instead of words; no page.")
    ] = False,
    fail_above: Annotated[
        float | None,
        typer.Option(
            "--fail-above", metavar="ERROR", help="Exit with status 1 if the error is above this: 0.05."
        ),
    ] = None,
    no_repair: Annotated[
        bool, typer.Option("--no-repair", help="Leave out the remedies, which are tried on a copy.")
    ] = False,
) -> None:
    """Why does a trained network not have a symmetry? Whose fault it is, and what to do.

    Measures the equivariance error, |f(gx) - f(x)| over what varies between samples, and divides it among
    five causes: the action (the test is wrong), the grid (interpolation), the architecture (layers, by
    name), the data (few transformations), training (drift). Remedies are applied to a copy and measured.

    Writes one page: causes, errors by element and layer, accuracy by class, the data's symmetry, remedies.

    Exit status: 0 done; 1 the error is above --fail-above; 2 bad input, with one line that says what; 130
    stopped by Ctrl-C.

    Examples:

      [cyan]symscope audit --model nets.py:build --weights w.pt --data mine.npz --group C8[/cyan]

      [cyan]symscope audit --model nets.py:unet --weights w.pt --data mine.npz --group C4 --target-action
      image[/cyan]

      [cyan]symscope audit --model nets.py:build --weights w.pt --data mine.npz --json --fail-above
      0.05[/cyan]
    """
    from symscope.auditing import audit_page
    from symscope.report import write_page

    if fail_above is not None and not 0 <= fail_above < math.inf:
        raise InputError(f"--fail-above: expected an error of 0 or more, got {fail_above}")
    if not 0 < seconds < math.inf:
        raise InputError(f"--seconds: expected a time above 0, got {seconds}")
    if not as_json:
        check_page_path(out)
    if save_to is not None:
        check_page_path(save_to, "--save-repaired")
        if no_repair:
            raise InputError("--save-repaired: there is nothing to save with --no-repair")
    options: dict[str, Any] = {
        "task": task,
        "device": usable_device_name(device),
        "seconds": seconds,
        "seed": seed,
        "augmented": augmented,
        "names": [name.strip() for name in class_names.split(",")] if class_names else None,
    }
    with redirect_stdout(sys.stderr):  # what the user's code prints is no part of the answer
        result = _audit(model, weights, data, group, action, target_action, limit, not no_repair, options)
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        _print(result)
        write_page(audit_page(result, shlex.join(["symscope", *sys.argv[1:]])), out)
        results_console().print(f"Report: {out}", soft_wrap=True)
    if save_to is not None:
        _save(result, save_to)
    if fail_above is not None and not result.error <= fail_above:
        print(f"symscope: error {result.error:.4g} is above {fail_above:g} (--fail-above)", file=sys.stderr)
        raise typer.Exit(1)


def _audit(
    model: str,
    weights: Path | None,
    data: str,
    group: str,
    action: str,
    target_action: str,
    limit: int | None,
    repairs: bool,
    options: dict[str, Any],
) -> Audit:
    from symscope.auditing import audit as audit_of
    from symscope.auditing import audit_samples, names_note
    from symscope.data import LabelledData
    from symscope.user_code import load_user_function, user_errors

    samples, words = audit_samples(data, options.pop("task"), limit)
    names = options.pop("names")
    acting = named_action(group, action, tuple(samples.x.shape[1:]))
    network: Any = load_user_function("--model", model) if ":" in model or model.endswith(".py") else model
    target: Any = target_action or None
    if ":" in target_action:
        target = _own_target(target_action, group, acting)
    given: Any = samples
    if words is not None and isinstance(samples, LabelledData):
        given = (samples.x, [words[label] for label in samples.labels.tolist()])
    with ForecastProgress() as progress, user_errors("your code", mixed=True):
        result = audit_of(
            network,
            given,
            acting,
            target_action=target,
            weights=weights,
            class_names=names or words,
            name=model,
            repairs=repairs,
            progress=partial(progress, model),
            **options,
        )
    if words is not None and names is None:
        return replace(result, notes=(*result.notes, names_note(words)))
    return result


def _save(result: Audit, path: Path) -> None:
    """The network after the best remedy, with the lines that load it."""
    from symscope.auditing import best_repair, save_repaired

    best = best_repair(result.repairs)
    if best is None:
        print("symscope: no remedy made it better, nothing is saved (--save-repaired)", file=sys.stderr)
        return
    save_repaired(best, path)
    print(f"symscope: {path}: {best.name}; to load it:", file=sys.stderr)
    print(best.recipe.replace("repaired.pt", str(path)), file=sys.stderr)


def _own_target(name: str, group: str, acting: Any) -> Any:
    """The user's own action on rows of outputs, of the group that acts on samples."""
    from symscope.data import Action, custom_action
    from symscope.groups import FiniteGroup, parse
    from symscope.user_code import load_user_function

    function = load_user_function("--target-action", name)
    known = acting.group if isinstance(acting, Action) else parse(group)
    if not isinstance(known, FiniteGroup):
        raise InputError(f"--target-action {name}: expected a listed finite group, got {group}")
    return custom_action(known, function, 1, getattr(function, "__name__", "custom"))


def _print(result: Audit) -> None:
    """The verdict, the causes, the layers that matter, remedies and notes."""
    console = results_console()
    console.print(result.verdict, soft_wrap=True)
    console.print()
    if result.causes:
        rows = [
            (one.kind, f"{one.share:.0%}", f"{one.low:.0%} to {one.high:.0%}", one.sentence, one.remedy)
            for one in result.causes
        ]
        columns = ("cause", "share", "95 % interval", "measured", "what to do")
        console.print(simple_table("Whose fault it is: shares of the squared error", columns, rows))
        console.print()
    elements = [
        (one.element, f"{one.error:.1%}", "exact" if one.exact else "interpolated") for one in result.elements
    ]
    title = f"Error by transformation: {result.error:.1%} ({result.low:.1%} to {result.high:.1%})"
    console.print(simple_table(title, ("element", "error", "on the grid"), elements))
    console.print()
    if result.consequences is not None:
        for sentence in result.consequences.sentences:
            console.print(sentence, soft_wrap=True)
        console.print()
    layers = [
        (one.layer, one.kind, _share(one.own), f"{one.added:.0%}", one.reason)
        for one in result.layers
        if one.added >= 0.01 or one.reason
    ]
    if layers:
        columns = ("layer", "class", "own error", "adds", "why")
        console.print(simple_table("Layers that add to the error", columns, layers))
        console.print()
    if result.repairs:
        _print_repairs(console, result)
    if result.local is not None:
        local = result.local
        console.print(
            f"Small transformations: the derivative of the error at the identity ({local.method}) is "
            f"{local.per_step:.1%} for {local.step}; the error measured there is {local.first_step:.1%}.",
            soft_wrap=True,
        )
    for note in result.notes:
        console.print(f"Note: {note}", soft_wrap=True)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"


def _print_repairs(console: Any, result: Audit) -> None:
    from symscope.auditing import best_repair

    rows = []
    for one in result.repairs:
        if one.error_before is None or one.error_after is None:
            rows.append((one.name, "not applied", "", "", one.reason))
            continue
        rows.append(
            (
                one.name,
                one.outcome,
                f"{one.error_before.value:.1%} to {one.error_after.value:.1%}",
                _change(one.everywhere_before, one.everywhere_after),
                f"x {one.slowdown:.1f}",
            )
        )
    classes = next((one.classes for one in result.repairs if one.module is not None), True)
    what = "accuracy" if classes else "root mean square error"
    columns = ("remedy", "outcome", "error", f"{what}, all transformations", "inference time")
    title = "Remedies, applied to a copy and measured on other samples"
    tried = next((one.elements for one in result.repairs if one.elements), ())
    if tried and len(tried) < len(result.elements):
        title += f", moved by {', '.join(tried)} alone"
    console.print(simple_table(title, columns, rows))
    console.print()
    best = best_repair(result.repairs)
    if best is not None:
        console.print(f"Best remedy: {best.name}; --save-repaired FILE keeps it.", soft_wrap=True)


def _change(before: Any, after: Any) -> str:
    if before is None or after is None or math.isnan(before.value):
        return ""
    return f"{before.value:.3f} to {after.value:.3f}"
