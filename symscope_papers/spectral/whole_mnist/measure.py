"""Accuracy on every class's upright images by streamed regression, and its check against dense."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import Action, LabelledData, rotation
from symscope.errors import InputError
from symscope.numerics import byte_count
from symscope.runs import CellContext, CellResults
from symscope.spectral import LeaveOut, class_masks, leave_out_residual, leave_out_streamed, precision
from symscope_papers.digits import digits
from symscope_papers.spectral.whole_mnist.config import FREE, WholeMnist
from symscope_papers.spectral.wide_networks import mlp_kernels

CLASSES = 10
ALL = 0  # digits of each class: as many as there are
FREE_SHARE = 0.93  # of the memory a GPU has left: its library keeps some


def cells(config: WholeMnist) -> list[dict[str, Any]]:
    """The check first, then from small to large; 0 digits of each class stands for all."""
    digits(config.mnist)  # missing files are reported before anything runs
    sizes = [(k, n) for k in sorted(config.seeds) for n in config.angles]
    sizes += [(ALL, n) for n in config.whole_angles]
    check = {"part": "check", "seeds": config.check_seeds, "angles": config.check_angles}
    return [check, *({"part": "run", "seeds": k, "angles": n} for k, n in sizes)]


def measure_cell(config: WholeMnist, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Accuracy on every class's upright images, left out in turn; or the comparison with dense regression.

    Rows hold seconds: of two runs of one cell they differ, and everything else is the same.
    """
    source = digits(config.mnist)
    if cell["seeds"] != ALL:
        source = source.per_class(cell["seeds"], context.run_seed)
    device, action = torch.device(context.device), rotation(cell["angles"], "orthogonal")
    problem = DigitRegression.of(source.standardised(), action, config, device)
    if cell["part"] == "check":
        points, difference = problem.difference_to_dense()
        return {"checks": [{"points": points, "largest_difference": difference}]}
    result, seconds = problem.streamed()
    accuracy = result.accuracy()
    rows = [
        {
            "left_out": label,
            "orbits": len(source),
            "points": result.points,
            "accuracy": float(accuracy[label]),
            "mean_absolute_residual": float(result.residual[result.sets == label].abs().mean()),
            "seconds": seconds,
            "device": device.type,
        }
        for label in range(CLASSES)
    ]
    shares = [
        {"irrep": one.irrep, "place": place, "share": one.share, "weight": one.weight, "limits": one.limits}
        for place, one in enumerate(result.irreps)
    ]
    return {"accuracy": rows, "irreps": shares}


@final
@dataclass(frozen=True, eq=False)
class DigitRegression:
    """Digits, what turns them, and the kernel, on one device.

    Attributes:
        samples: Standardised images, flat.
        data: Standardised images with their classes.
        action: An exact, orthogonal action of rotations.
        kernel: `(a, b) -> K`, with an exact diagonal where a is b.
        config: Config with ridge and memory.
    """

    samples: Float[Tensor, "m pixels"]
    data: LabelledData
    action: Action
    kernel: Callable[[Tensor, Tensor], Tensor]
    config: WholeMnist

    @staticmethod
    def of(data: LabelledData, action: Action, config: WholeMnist, device: torch.device) -> DigitRegression:
        """The problem of some standardised digits; the basis of the rotations is made here."""
        ntk = mlp_kernels(config.hidden).ntk
        made = DigitRegression(
            data.x.flatten(1).to(device),
            data,
            action,
            lambda a, b: ntk.blocks(a[None], None if b is a else b[None])[0],
            config,
        )
        made.orbit(made.samples[:1])
        return made

    def orbit(self, samples: Float[Tensor, "a pixels"]) -> Float[Tensor, "a n pixels"]:
        """Every rotation of some samples."""
        return self.action.act_all(samples.unflatten(1, tuple(self.data.x.shape[1:]))).flatten(2)

    @property
    def labels(self) -> Float[Tensor, "m classes"]:
        """One-hot."""
        return nn.functional.one_hot(self.data.labels, CLASSES).to(self.samples)

    def streamed(self) -> tuple[LeaveOut, float]:
        """Every class left out in turn, within the memory; and the seconds it took."""
        masks = class_masks(self.data.labels, self.action.group)
        memory = memory_budget(self.config.memory, self.samples.device)
        started = _now(self.samples.device)
        result = leave_out_streamed(
            self.kernel,
            self.orbit,
            self.samples,
            self.labels,
            masks,
            self.action.group,
            self.config.ridge,
            memory=memory,
        )
        return result, _now(self.samples.device) - started

    def difference_to_dense(self) -> tuple[int, float]:
        """How many points there are, and how far residuals are from those of regression over all of them."""
        result, _ = self.streamed()
        everything = self.orbit(self.samples).flatten(0, 1)
        inverse = precision(self.kernel(everything, everything), self.config.ridge)
        values = self.labels.repeat_interleave(self.action.group.order, 0)
        worst = 0.0
        for label, mask in enumerate(class_masks(self.data.labels, self.action.group)):
            missing = mask.flatten().nonzero()[:, 0].to(self.samples.device)
            dense = leave_out_residual(inverse, values, missing).cpu()
            worst = max(worst, float((result.residual[result.sets == label] - dense).abs().max()))
        return len(everything), worst


def memory_budget(memory: str, device: torch.device) -> int:
    """The budget in bytes.

    Args:
        memory: Memory as text, or "free" for what a GPU has left.
        device: Device whose memory is used.

    Raises:
        InputError: "free" on a device that is not a GPU.

    >>> memory_budget("2GB", torch.device("cpu"))
    2000000000
    """
    if memory != FREE:
        return byte_count(memory)
    if device.type != "cuda":
        raise InputError('memory: "free" means what a GPU has left; on a CPU give it, --set memory=2GB')
    torch.cuda.empty_cache()
    return int(FREE_SHARE * torch.cuda.mem_get_info(device)[0])


def _now(device: torch.device) -> float:
    """The time, the device having finished."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
