"""What must be true of a network and a loss before anything is discovered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from symscope.discovery.loss_derivatives import sample_gradients, sample_losses
from symscope.discovery.sampling import Rows
from symscope.errors import InputError
from symscope.networks import LOSSES, user_error

if TYPE_CHECKING:
    from symscope.discovery._parameter_problem import Problem

PROBES = 3


def takes_whole_numbers(problem: Problem) -> bool:
    """Whether the network looks its inputs up, as tokens; a number outside the table is refused later."""
    sample = problem.sample(1, PROBES, seed=0)
    try:
        with torch.no_grad():
            problem.returned(sample.theta[0], sample.x[0])
    except IndexError:
        return True
    except (Exception, SystemExit):  # whatever the user's forward raises
        return False
    return True


def check_evaluation(problem: Problem) -> None:
    """That the network is deterministic and the loss is one finite number per data point, on its own.

    Raises:
        InputError: If not; says which.
    """
    sample = problem.sample(1, PROBES, seed=0)
    theta, x, y = sample.theta[0], sample.x[0], sample.y[0]
    with torch.no_grad():
        try:
            outputs = problem.returned(theta, x)
        except (Exception, SystemExit) as error:  # whatever the user's forward raises
            inputs = f"inputs of shape {list(x.shape)}, {x.dtype}"
            raise user_error(f"the module cannot be evaluated on {inputs}: it", error) from error
        if not isinstance(outputs, Tensor) or outputs.ndim == 0 or outputs.shape[0] != PROBES:
            came = list(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
            raise InputError(
                f"expected the module to return one tensor [{PROBES}, ...], one output per data point, got "
                f"{came}; wrap it"
            )
        rows = (problem.data.x, problem.data.y) if isinstance(problem.data, Rows) else (x, y)
        check_finite_evaluation(*rows, outputs)
        if problem.loss is LOSSES["cross-entropy"]:
            check_classes(rows[1], outputs)
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
            "the loss of a data point depends on the other data points of its batch, so it is not "
            f"per-sample; outputs are {list(outputs.shape)} and targets {list(y.shape)}: use a network and a "
            "loss that treat data points one by one (batch statistics: wrap the layers so that a whole batch "
            "is one data point; shapes that differ: reshape the targets before subtracting)"
        )


def check_finite_evaluation(x: Tensor, y: Tensor, outputs: Tensor) -> None:
    """That neither data nor outputs hold NaN or infinity: the data's fault, or the network's.

    Raises:
        InputError: If one does; says which.
    """
    clean, smaller = "clean them", "draw parameters or data smaller (parameters=...)"
    for what, values, remedy in (
        ("data", x, clean),
        ("data's targets", y, clean),
        ("network's outputs at random parameters", outputs, smaller),
    ):
        if not bool(torch.isfinite(values).all()):
            raise InputError(f"the {what}: expected finite numbers, got NaN or infinity; {remedy}")


def check_classes(targets: Tensor, outputs: Tensor) -> None:
    """That targets are class numbers of the outputs, one each; floating-point ones are good if whole.

    Raises:
        InputError: If not; says which number is not.
    """
    if outputs.ndim != 2 or targets.ndim != 1:
        raise InputError(
            "cross-entropy: expected outputs [b, classes] and one class number for each data point, got "
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


def _losses(problem: Problem, outputs: Tensor, y: Tensor) -> Tensor:
    count = outputs.shape[0]
    try:
        losses = problem.loss(outputs, y)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # whatever the user's loss raises
        shapes = f"outputs {list(outputs.shape)} and targets {list(y.shape)}"
        raise user_error(f"the loss cannot be evaluated on {shapes}: it", error) from error
    if not isinstance(losses, Tensor) or tuple(losses.shape) != (count,):
        came = f"shape {list(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise InputError(
            f"the loss is not per-sample: expected [{count}] numbers for {count} data points, got {came}; "
            "use reduction='none' and sum over outputs only"
        )
    return losses


def check_differentiable(problem: Problem) -> None:
    """That no parameter changes the loss without a derivative, as behind `round`, `sign` or `detach`.

    Raises:
        InputError: Names the parameter.
    """
    sample = problem.sample(PROBES, PROBES, seed=1)
    try:
        gradients, before = sample_gradients(problem, sample), sample_losses(problem, sample)
    except (Exception, SystemExit) as error:  # whatever the user's code raises under torch.func
        what = "the losses have no derivative in the parameters that torch.func can take: their code"
        raise user_error(what, error) from error
    for name in problem.layout.names:
        where = problem.layout.indices(name).reshape(-1).to(problem.device)
        if bool(gradients[..., where].any()):
            continue
        moved = sample.theta.clone()
        moved[:, where] = -1.7 * moved[:, where] + 0.3
        after = sample_losses(problem, type(sample)(moved, sample.x, sample.y))
        if bool((after - before).abs().max() > torch.finfo(problem.dtype).eps ** 0.5 * before.abs().max()):
            raise InputError(
                f"parameter {name!r} changes the loss but has no derivative (rounding, a sign, an argmax or "
                "detach()); freeze it with requires_grad_(False) or use a smooth surrogate"
            )
