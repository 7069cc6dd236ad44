"""`symscope discover`: the symmetries of your own network's parameters, as a table and a page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symscope.cli._terminal import Page, Seed, check_page_path, results_console
from symscope.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from symscope.discovery import DataSource, Discovery, ParameterProblem

MOST_STEPS = 1_000_000  # hours of learning


def discover(
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODULE:FUNCTION",
            help="Your network: MODULE:FUNCTION or FILE.py:FUNCTION; the function takes nothing, or a seed, "
            "and returns an nn.Module.",
        ),
    ],
    loss: Annotated[
        str,
        typer.Option(
            "--loss",
            metavar="LOSS",
            help="squared, mse, cross-entropy, or your own per-sample MODULE:FUNCTION.",
        ),
    ] = "squared",
    inputs: Annotated[
        str | None,
        typer.Option(
            "--inputs",
            metavar="SHAPE",
            help="Shape of one input, 3 or 1,8,8, where there is no --data; default: that of the first "
            "linear layer.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Your data, an .npz file with X and y; whole numbers X are tokens where the network looks "
            "them up. Default: normal inputs and targets.",
        ),
    ] = None,
    near: Annotated[
        float | None,
        typer.Option(
            "--near",
            metavar="SCALE",
            help="Draw parameters around the network's own, with this standard deviation; default: around 0.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="METHOD", help="Exact search: auto, all, layers, or none (catalogue only)."
        ),
    ] = "auto",
    learn: Annotated[
        int, typer.Option("--learn", metavar="N", help="Number of generators to learn as well.")
    ] = 0,
    dependent: Annotated[
        bool, typer.Option("--dependent", help="Let learned fields depend on the sample.")
    ] = False,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", help="Training steps of the learned generators.")
    ] = 1500,
    seed: Seed = 0,
    out: Page = Path("discovery.html"),
) -> None:
    """Find the symmetries of your network's parameters, name them, test them, write a page.

    A symmetry changes parameters and no sample's loss. Linear symmetries that ignore the data are found
    exactly: all of them up to about 60 parameters; in larger networks those between layers that can be
    followed ("at least"), beside an upper bound for all. Also the known ones of standard layers, and with
    --learn nonlinear or data-dependent ones.
    Each is tested on held-out parameters and data: half the rows of --data are held out (a single row cannot
    be). Your code is run only where you name it.

    Examples:

      [cyan]symscope discover --model mynets:build --loss mse[/cyan]

      [cyan]symscope discover --model nets.py:classifier --loss cross-entropy --inputs 1,8,8[/cyan]

      [cyan]symscope discover --model nets.py:small --learn 2 --dependent --out page.html[/cyan]
    """
    from rich.console import Console
    from rich.text import Text

    from symscope.discovery import discover as discovered
    from symscope.discovery import discovery_page, learning_options
    from symscope.report import write_page
    from symscope.user_code import user_errors

    if learn < 0 or not 1 <= steps <= MOST_STEPS:
        raise InputError(
            f"--learn and --steps: expected 0 or more, and 1 to {MOST_STEPS}, got {learn} and {steps}"
        )
    if not 0 <= seed < 2**62:
        raise InputError(f"--seed {seed}: expected a number of 0 or more, below 2^62")
    if inputs is not None and data is not None:
        raise InputError(
            "--inputs and --data: expected one of them; X in the data has the shape of an input, so leave "
            "--inputs out, or reshape X"
        )
    check_page_path(out)
    console, progress = results_console(), Console(stderr=True)
    problem = _problem(model, seed, loss, inputs, data, near)
    if learn > problem.size:
        raise InputError(
            f"--learn {learn}: expected at most {problem.size}, one for each of the network's parameters: no "
            "point has more directions to move in"
        )
    learning = learning_options(learn, dependent, steps) if learn else None
    with progress.status("") as status, user_errors("your code", mixed=True):
        result = discovered(
            problem,
            seed=seed,
            method=method,
            learning=learning,
            progress=lambda words, done, total: status.update(Text(f"{words}: {done} of {total}")),
        )
    _print(console, result)
    write_page(discovery_page(result, f"Symmetries of {model}"), out)
    console.print(f"Report: {out}", soft_wrap=True)


def _print(console: Any, result: Discovery) -> None:
    from symscope.cli._terminal import simple_table

    console.print(result.answer(), soft_wrap=True)
    rows = [
        (test.name, test.verdict.value, f"{test.loss_drift:.1e}", f"{test.random_loss_drift:.1e}")
        for test in [*result.tests, *(test for tests in result.learned_tests for test in tests)]
    ]
    columns = ("symmetry", "held-out verdict", "loss drift", "random field")
    if rows:
        console.print(simple_table("Found", columns, rows))
    known = [
        (entry.symmetry.name, entry.symmetry.kind, "holds" if entry.holds else "does not hold")
        for entry in result.catalogue
    ]
    if known:
        console.print(simple_table("Known symmetries of its layers", ("symmetry", "kind", "held out"), known))


def _problem(
    model: str, seed: int, loss: str, inputs: str | None, data: Path | None, near: float | None
) -> ParameterProblem:
    import torch

    from symscope.discovery import parameter_problem, parameters_near
    from symscope.networks import LOSSES
    from symscope.user_code import load_user_function

    module = _module(model, seed)
    own = ":" in loss or loss.endswith(".py")
    chosen = load_user_function("--loss", loss) if own and loss not in LOSSES else loss
    source = _source(module, str(loss), inputs, data)
    draw = None
    if near is not None:
        weights = [w.detach().flatten().double() for w in module.parameters() if w.requires_grad]
        draw = parameters_near(torch.cat(weights), near) if weights else None
    return parameter_problem(module, chosen, source, draw)


def _module(model: str, seed: int) -> nn.Module:
    """The user's network in float64 and evaluation mode, its weights drawn from the seed."""
    from symscope.networks import build_network
    from symscope.user_code import load_user_function

    return build_network(f"--model {model}", load_user_function("--model", model), seed)


def _source(module: nn.Module, loss: str, inputs: str | None, data: Path | None) -> DataSource:
    """The user's data, or random data of the shapes the network takes and gives."""
    from symscope.discovery import class_data, dataset, gaussian_data

    if data is not None:
        x, y = _arrays(data)
        return dataset(x, y)
    shape = _shape(inputs, module)
    outputs = _outputs(module, shape)
    if loss == "cross-entropy" and outputs:
        return class_data(shape, outputs[-1])
    return gaussian_data(shape, outputs)


def _arrays(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """X and y in the machine's own byte order: whole numbers as int64, others as float64."""
    import numpy as np
    import torch

    from symscope.data import read_arrays

    if path.suffix != ".npz":
        raise InputError(f"--data {path}: expected an .npz file with arrays X and y")
    try:
        x, y = read_arrays(path)
    except InputError as error:
        raise InputError(f"--data {error}") from error
    for name, array in (("X", x), ("y", y)):
        if array.dtype.kind not in "buif":
            raise InputError(f"--data {path}: expected real numbers in {name}, got {array.dtype}")
    x, y = (a.astype(np.float64 if a.dtype.kind == "f" else np.int64) for a in (x, y))
    if x.ndim == 0 or y.ndim == 0:
        raise InputError(f"--data {path}: expected rows in X and in y, got single numbers")
    if len(x) != len(y):
        raise InputError(f"--data {path}: X and y need as many rows, got {len(x)} and {len(y)}")
    return torch.from_numpy(x), torch.from_numpy(y)


def _shape(inputs: str | None, module: nn.Module) -> tuple[int, ...]:
    from torch import nn

    if inputs is None:
        first = next((part for part in module.modules() if isinstance(part, nn.Linear)), None)
        if first is None:
            raise InputError(
                "--inputs: the network has no linear layer to take the shape of an input from; give the shape"
            )
        return (first.in_features,)
    try:
        shape = tuple(int(part) for part in inputs.split(","))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise InputError(f"--inputs {inputs}: expected a shape of positive numbers, 3 or 1,8,8")
    return shape


def _outputs(module: nn.Module, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of one output."""
    import torch

    from symscope.numerics import check_memory
    from symscope.user_code import user_errors

    like = next(iter(module.parameters()), torch.zeros(()))
    check_memory(f"--inputs {shape}", 16 * math.prod(shape), "give the shape of one input")
    try:
        with user_errors(f"the network, on inputs of shape {(2, *shape)},"), torch.no_grad():
            result = module(like.new_zeros(2, *shape))
    except InputError as error:
        raise InputError(
            f"{error}; give the shape of one input with --inputs, or inputs of your own, such as tokens, "
            "with --data"
        ) from error
    if not isinstance(result, torch.Tensor) or result.ndim == 0:
        raise InputError("the network must return one tensor [b, ...], one output for every input")
    return tuple(result.shape[1:])
