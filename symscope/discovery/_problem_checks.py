"""Checks of a network and a loss before anything is searched: deterministic, per sample, differentiable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from symscope.discovery.loss_derivatives import point_gradients, point_losses
from symscope.discovery.sampling import DatasetRows
from symscope.errors import InputError
from symscope.networks import LOSSES
from symscope.numerics import out_of_range
from symscope.user_code import user_errors

if TYPE_CHECKING:
    from symscope.discovery._parameter_problem import ParameterProblem

PROBES = 3


def takes_whole_numbers(problem: ParameterProblem) -> bool:
    """Whether the network looks its inputs up, as tokens; a number outside its table is refused later."""
    points = problem.random_points(1, PROBES, seed=0)
    try:
        with user_errors("the network"), torch.no_grad():
            problem.raw_outputs(points.theta[0], points.x[0])
    except InputError as error:
        return isinstance(error.__cause__, IndexError)
    return True


def check_evaluation(problem: ParameterProblem) -> None:
    """Refuses a network that is not deterministic, and a loss that is not one finite number per sample.

    Raises:
        InputError: The network or the loss is not so; names what is not.
    """
    points = problem.random_points(1, PROBES, seed=0)
    theta, x, y = points.theta[0], points.x[0], points.y[0]
    with torch.no_grad():
        inputs = f"inputs of shape {list(x.shape)}, {x.dtype}"
        with user_errors(f"the module cannot be evaluated on {inputs}: it"):
            outputs = problem.raw_outputs(theta, x)
        if not isinstance(outputs, Tensor) or outputs.ndim == 0 or outputs.shape[0] != PROBES:
            got = list(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
            raise InputError(
                f"expected the module to return one tensor [{PROBES}, ...], one output per sample, got "
                f"{got}; wrap it"
            )
        rows = (problem.data.x, problem.data.y) if isinstance(problem.data, DatasetRows) else (x, y)
        check_finite_evaluation(*rows, outputs)
        if problem.loss is LOSSES["cross-entropy"]:
            check_class_targets(rows[1], outputs)
        if not torch.equal(outputs, problem.outputs(theta, x)):
            raise InputError(
                "the module draws random numbers in eval mode: two evaluations differ; make that layer "
                "follow `self.training`"
            )
        losses = _losses(problem, outputs, y)
        alone = torch.cat(
            [_losses(problem, problem.outputs(theta, x[i : i + 1]), y[i : i + 1]) for i in range(PROBES)]
        )
    if not bool(torch.isfinite(losses).all()):
        raise InputError(
            "the loss is NaN or infinite at random parameters; draw them smaller (parameters=...)"
        )
    scale = torch.finfo(problem.dtype).eps ** 0.5 * losses.abs().max()
    if bool(((losses - alone).abs() > scale).any()):
        raise InputError(
            "the loss of a sample depends on the other samples of its batch, so it is not "
            f"per-sample; outputs are {list(outputs.shape)} and targets {list(y.shape)}: use a network and a "
            "loss that treat samples one by one (batch statistics: wrap the layers so that a whole batch "
            "is one sample; shapes that differ: reshape the targets before subtracting)"
        )


def check_finite_evaluation(x: Tensor, y: Tensor, outputs: Tensor) -> None:
    """Refuses NaN and infinity in data and outputs, and data whose squares would be; names which of them.

    Raises:
        InputError: NaN or infinity, or numbers too large or too small.
    """
    clean, smaller = "clean them", "draw parameters or data smaller (parameters=...)"
    for what, values, remedy in (
        ("data", x, clean),
        ("data's targets", y, clean),
        ("network's outputs at random parameters", outputs, smaller),
    ):
        if values.numel() == 0:
            raise InputError(f"the {what}: expected at least one number, got shape {tuple(values.shape)}")
        if not bool(torch.isfinite(values).all()):
            raise InputError(f"the {what}: expected finite numbers, got NaN or infinity; {remedy}")
    for what, values in (("data", x), ("data's targets", y)):
        if not values.is_floating_point():
            continue
        largest = values.abs().amax()
        extreme, allowed = out_of_range(largest)
        if bool(extreme):
            raise InputError(
                f"the {what}: expected a largest number of {allowed}, so that losses are numbers too, got "
                f"{float(largest):.0e}; multiply them by a constant"
            )


def check_class_targets(targets: Tensor, outputs: Tensor) -> None:
    """Refuses targets that are not class numbers of the outputs; floating-point ones are good if whole.

    Raises:
        InputError: Targets of another shape, or a number that is not a class; names it.
    """
    if outputs.ndim != 2 or targets.ndim != 1:
        raise InputError(
            "cross-entropy: expected outputs [b, classes] and one class number for each sample, got "
            f"outputs {list(outputs.shape)} and targets {list(targets.shape)}; for one-hot rows use "
            "y.argmax(1), for a column y[:, 0]"
        )
    numbers, classes = targets.double(), outputs.shape[1]
    wrong = numbers[(numbers != numbers.round()) | (numbers < 0) | (numbers >= classes)]
    if len(wrong):
        raise InputError(
            f"cross-entropy: expected whole class numbers 0 to {classes - 1} for {classes} outputs, got "
            f"{float(wrong[0]):g}; number the classes from 0, or give the network an output for each"
        )


def _losses(problem: ParameterProblem, outputs: Tensor, y: Tensor) -> Tensor:
    count = outputs.shape[0]
    shapes = f"outputs {list(outputs.shape)} and targets {list(y.shape)}"
    with user_errors(f"the loss cannot be evaluated on {shapes}: it"):
        losses = problem.loss(outputs, y)
    if not isinstance(losses, Tensor) or tuple(losses.shape) != (count,):
        got = f"shape {list(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise InputError(
            f"the loss is not per-sample: expected [{count}] numbers for {count} samples, got {got}; "
            "use reduction='none' and sum over outputs only"
        )
    return losses


def check_differentiable(problem: ParameterProblem) -> None:
    """Refuses parameters that change the loss without a derivative, as behind `round`, `sign` or `detach`.

    Raises:
        InputError: There is such a parameter, which is named; or no parameter changes the loss.
    """
    points = problem.random_points(PROBES, PROBES, seed=1)
    what = "the losses have no derivative in the parameters that torch.func can take: their code"
    with user_errors(what):
        gradients, before = point_gradients(problem, points), point_losses(problem, points)
    for name in problem.layout.names:
        where = problem.layout.indices(name).reshape(-1).to(problem.device)
        if bool(gradients[..., where].any()):
            continue
        changed = points.theta.clone()
        changed[:, where] = -1.7 * changed[:, where] + 0.3  # another sign and size, zeros included
        after = point_losses(problem, points.at(changed))
        if bool((after - before).abs().max() > torch.finfo(problem.dtype).eps ** 0.5 * before.abs().max()):
            raise InputError(
                f"parameter {name!r} changes the loss but has no derivative (rounding, a sign, an argmax or "
                "detach()); freeze it with requires_grad_(False) or use a smooth surrogate"
            )
    if not bool(gradients.any()):
        raise InputError(
            "expected losses that change with the parameters, got gradients of 0 at random points: every "
            "transformation would be a symmetry; look for a factor of 0, a dead activation or data of 0"
        )
