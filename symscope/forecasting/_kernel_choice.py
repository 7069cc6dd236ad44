"""Which kernel stands for the network, why, and what it costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels import Kernel, UnsupportedLayer, empirical_ntk, infinite_width
from symscope.networks import UserModel, arrange_inputs
from symscope.numerics import checked, explained

if TYPE_CHECKING:
    from symscope.forecasting._question import Question

UNWEIGHTED = (nn.AvgPool2d, nn.AvgPool1d, nn.Identity, nn.Flatten)  # done to the data before any weight
BUDGET = 2.5e9  # numbers propagated for one Gram matrix
TIMED = (2, 4)  # points of the Gram matrices that are timed
BUDGET_SECONDS = 10  # for it, about, on one core
FINITE_POINTS = 256  # points of a finite-width kernel by default
PRODUCTS_PER_SECOND = 2e10  # products of two numbers, on one core
MOST_POINTS = 6000  # rows of any Gram matrix: 0.3 GB, and as much again to solve with it
MATRICES = 27  # of one kernel's size that are held at a time, about
MOST_SAMPLES = 8  # samples of a class by default: more change forecasts little


@checked
@final
@dataclass(frozen=True)
class TangentKernel:
    """The tangent kernel a forecast uses.

    Attributes:
        kind: "infinite" or "finite".
        reason: Why this one, in a sentence.
        entry: Numbers propagated for one entry of a Gram matrix, where known.
        kernel: Function from a seed to the network's kernel; the same for every seed if infinite.
    """

    kind: str
    reason: str
    entry: float
    kernel: Callable[[int], Callable[..., Tensor]]

    @property
    def name(self) -> str:
        """The kernel's name in reports."""
        return "infinite-width NTK" if self.kind == "infinite" else "finite-width NTK at initialisation"

    def duration(self, points: int) -> str:
        """How long a Gram matrix over so many points takes on one core, in words; empty below a minute."""
        minutes = BUDGET_SECONDS / 60 * points**2 / 2 * self.entry / BUDGET
        return f", about {minutes:.0f} minutes" if minutes >= 1 else ""

    def affordable(self, points: int, effort: float) -> bool:
        """Whether a Gram matrix over so many points is within the budget."""
        if points > MOST_POINTS:
            return False
        if self.kind == "finite":
            return points <= 2 * FINITE_POINTS * math.sqrt(effort)
        return points**2 / 2 * self.entry <= 2 * BUDGET * effort


@explained
def tangent_kernel(
    model: UserModel, shape: Sequence[int], kernel: str = "auto", points: int = 0, effort: float = 1.0
) -> TangentKernel:
    """The infinite-width kernel where the architecture has one, else the finite one of the network itself.

    Args:
        model: The network.
        shape: Shape of one sample.
        kernel: "auto"; or "infinite" or "finite" to insist.
        points: Fewest points the kernel will be needed for; "auto" takes the finite kernel where the infinite
            one would take too long for them.
        effort: Factor on the budget.

    Raises:
        InputError: An infinite-width kernel that does not exist.
    """
    if kernel == "finite":
        return _finite(model, "The finite-width kernel was asked for.")
    if model.fixed and kernel == "auto":
        return _finite(model, "The weights come from a file: the kernel is taken at these weights.")
    module = model.builder(0)
    x = arrange_inputs(torch.zeros(1, *shape, dtype=torch.float64), model.layout)
    try:
        before, rest = leading_data_part(module)
        with torch.no_grad():
            reduced = before(x)
        limit = infinite_width(rest, parameterisation="standard")
        entry = limit.network.entry_numbers(tuple(reduced.shape[1:]))
    except UnsupportedLayer as error:
        if kernel == "infinite":
            raise
        return _finite(model, f"The architecture has no infinite-width kernel: {_first_clause(error)}.")
    except InputError as error:
        if kernel == "infinite":
            raise
        return _finite(model, f"The infinite-width kernel cannot take it: {_first_clause(error)}.")
    reason = "Every layer has an infinite-width form, so nothing depends on an initialisation."
    result = TangentKernel(
        "infinite", reason, entry, lambda seed: InfiniteKernel(model.layout, before, limit.ntk)
    )
    if kernel == "auto" and points and not result.affordable(points, effort):
        times = points**2 / 2 * entry / BUDGET
        return _finite(
            model,
            f"The infinite-width kernel exists, but takes {entry:.1g} numbers for each pair of points, "
            f"{times:.0f} times the budget; kernel='infinite' insists.",
        )
    return result


def leading_data_part(module: nn.Module) -> tuple[nn.Module, nn.Module]:
    """A network in two parts: what it does to the data before any weight, and the rest.

    Pooling or flattening the data first and propagating kernels after gives the same numbers and costs much
    less than propagating covariances of all pixels: a flattened image is twenty times faster.

    >>> before, rest = leading_data_part(nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(1, 2, 3)))
    >>> before, len(rest)
    (Sequential(
      (0): AvgPool2d(kernel_size=2, stride=2, padding=0)
    ), 1)
    """
    if not isinstance(module, nn.Sequential):
        return nn.Sequential(), module
    parts = list(module)
    count = 0
    while count < len(parts) - 1 and isinstance(parts[count], UNWEIGHTED):
        count += 1
    return nn.Sequential(*parts[:count]), nn.Sequential(*parts[count:])


def outputs_reason(tangent: TangentKernel, model: UserModel, shape: Sequence[int]) -> str:
    """Whether regression is exact for targets that change with the sample, in a sentence.

    It is for a kernel that is one number times the identity over outputs, because then each output is
    learned by itself, with labels that vary within orbits.

    >>> from symscope.networks import user_model
    >>> dense = nn.Sequential(nn.Flatten(), nn.Linear(9, 4), nn.ReLU(), nn.Linear(4, 9))
    >>> maps = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1), nn.Flatten())
    >>> models = [user_model(net, (3, 3), 9) for net in (dense, maps)]
    >>> [outputs_reason(tangent_kernel(one, (3, 3)), one, (3, 3))[:9] for one in models]
    ['Over outp', 'It is a m']
    """
    if tangent.kind == "infinite" and _dense_readout(model, shape):
        return "Over outputs it is a multiple of the identity, so that regression is exact for them."
    return (
        "It is a matrix over outputs, of which the mean over outputs is used: for targets that change with "
        "the sample this is not exact."
    )


def _dense_readout(model: UserModel, shape: Sequence[int]) -> bool:
    """Whether the outputs are those of a linear layer on rows, so that no two share weights."""
    module, made = model.builder(0), list[Tensor]()

    def hook(part: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> None:
        if given[0].ndim == 2:
            made.append(out)

    for part in module.modules():
        if isinstance(part, nn.Linear):
            part.register_forward_hook(hook)
    x = torch.rand(2, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        outputs = module(arrange_inputs(x, model.layout))
    return bool(made) and made[-1].shape == outputs.shape and torch.equal(made[-1], outputs)


def most_per_class(classes: int, order: int, memory: int) -> int:
    """Samples of each class whose kernel fits some memory.

    >>> most_per_class(10, 8, 4 * 10**9)
    53
    """
    return int(math.sqrt(memory / (8 * MATRICES)) / (classes * order))


def default_per_class(tangent: TangentKernel, classes: int, order: int, smallest: int, effort: float) -> int:
    """Samples of each class that the budget allows, from 2 to 8."""
    if tangent.kind == "finite":
        points = FINITE_POINTS * math.sqrt(effort)
    else:
        points = math.sqrt(2 * BUDGET * effort / tangent.entry)
    points = min(points, MOST_POINTS / 2)
    return max(2, min(MOST_SAMPLES, smallest, int(points / (classes * order))))


def _gradient_seconds(module: nn.Module, x: Tensor) -> float:
    start, output = time.perf_counter(), module(x).sum()
    if output.requires_grad:  # a constant has no gradient, and is refused later
        output.backward()
    return time.perf_counter() - start


@explained
def kernel_seconds(tangent: TangentKernel, model: UserModel, question: Question, points: int) -> float:
    """About how long a Gram matrix over so many points takes on one core; a few points are timed."""
    if tangent.kind == "infinite":
        counted = BUDGET_SECONDS * points**2 / 2 * tangent.entry / BUDGET
        return max(counted, _pairs_seconds(tangent, question) * points**2 / 2)
    module = model.builder(0)
    x = arrange_inputs(torch.zeros(1, *question.shape, dtype=torch.float64), model.layout)
    gradient = min(_gradient_seconds(module, x) for _ in range(2))
    products = points**2 * model.parameters * model.outputs / PRODUCTS_PER_SECOND
    return gradient * points * model.outputs + products


def _pairs_seconds(tangent: TangentKernel, question: Question) -> float:
    """Seconds that one more entry of a Gram matrix takes: activations without a closed form take long."""
    kernel, x = tangent.kernel(0), question.data.x[: TIMED[-1]].double()
    times = []
    for few in TIMED:
        seconds = []
        for _ in range(2):  # the first call takes longer
            start = time.perf_counter()
            kernel(x[:few])
            seconds.append(time.perf_counter() - start)
        times.append(min(seconds))
    entries = [few * (few + 1) / 2 for few in TIMED]
    return max(0.0, times[1] - times[0]) / (entries[1] - entries[0])


@final
@dataclass(frozen=True)
class InfiniteKernel:
    """An infinite-width kernel on points as the data has them."""

    layout: str
    before: nn.Module
    ntk: Kernel

    def __call__(
        self, points: Float[Tensor, "p *s"], others: Float[Tensor, "q *s"] | None = None
    ) -> Float[Tensor, "p r"]:
        """The kernel of some points with others, or among themselves."""
        with torch.no_grad():
            first = self.before(arrange_inputs(points, self.layout))
            if others is None or others is points:
                return self.ntk(first)
            return self.ntk(first, self.before(arrange_inputs(others, self.layout)))


@checked
@final
@dataclass(frozen=True)
class FiniteKernel:
    """The tangent kernel of a module at its present weights, mean over its outputs."""

    layout: str
    module: nn.Module

    def __call__(self, points: Float[Tensor, "p *s"]) -> Float[Tensor, "p p"]:
        module = self.module.to(points.device)
        with torch.no_grad():
            return empirical_ntk(module)(arrange_inputs(points, self.layout))


def _finite(model: UserModel, reason: str) -> TangentKernel:
    return TangentKernel("finite", reason, 0.0, lambda seed: FiniteKernel(model.layout, model.builder(seed)))


def _first_clause(error: InputError) -> str:
    return str(error).split(". ")[0].removesuffix(".")
