"""Where parameters and data come from: generic ones for discovery, fresh ones for verification."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int, Shaped
from torch import Generator, Tensor

from symscope.discovery._parameter_layout import Layout
from symscope.errors import InputError

DataSource = Callable[[int, Generator], tuple[Tensor, Tensor]]
ParameterSource = Callable[[int, Generator], Tensor]


@final
@dataclass(frozen=True)
class Sample:
    """Independent points: parameters, each with its own batch of data.

    Attributes:
        theta: Flat parameters.
        x: Inputs; `x[i]` is the batch that goes with `theta[i]`.
        y: Targets.
    """

    theta: Float[Tensor, "p n"]
    x: Shaped[Tensor, "p b *s"]
    y: Shaped[Tensor, "p b *t"]

    @property
    def points(self) -> int:
        return self.theta.shape[0]

    @property
    def batch(self) -> int:
        return self.x.shape[1]


def gaussian_data(inputs: Sequence[int], targets: Sequence[int], scale: float = 1.0) -> DataSource:
    """Inputs and targets with independent normal entries.

    Args:
        inputs: Shape of one input.
        targets: Shape of one target.
        scale: Standard deviation.

    >>> x, y = gaussian_data((3,), (2,))(5, torch.Generator().manual_seed(0))
    >>> x.shape, y.shape
    (torch.Size([5, 3]), torch.Size([5, 2]))
    """

    def draw(count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        x = torch.randn(count, *inputs, generator=generator, dtype=torch.float64)
        y = torch.randn(count, *targets, generator=generator, dtype=torch.float64)
        return scale * x, scale * y

    return draw


def class_data(inputs: Sequence[int], classes: int, scale: float = 1.0) -> DataSource:
    """Normal inputs and uniformly drawn class numbers.

    Raises:
        InputError: Fewer than two classes.
    """
    if classes < 2:
        raise InputError(f"expected at least 2 classes, got {classes}")

    def draw(count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        x = torch.randn(count, *inputs, generator=generator, dtype=torch.float64)
        return scale * x, torch.randint(classes, (count,), generator=generator)

    return draw


def token_data(length: int, vocabulary: int, classes: int) -> DataSource:
    """Uniformly drawn tokens and class numbers."""
    if min(length, vocabulary, classes) < 1:
        raise InputError(
            f"expected positive length, vocabulary and classes, got {length}, {vocabulary}, {classes}"
        )

    def draw(count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        x = torch.randint(vocabulary, (count, length), generator=generator)
        return x, torch.randint(classes, (count,), generator=generator)

    return draw


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a user's data set, drawn with replacement: a `DataSource` that keeps some for tests.

    Attributes:
        x: Inputs.
        y: Targets.
        finding: Numbers of the rows that symmetries are found on.
        testing: Numbers of the rows they are tested on; the same ones when there is only one row.
    """

    x: Shaped[Tensor, "N *s"]
    y: Shaped[Tensor, "N *t"]
    finding: Int[Tensor, "f"]
    testing: Int[Tensor, "t"]

    def __call__(self, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        return self._drawn(self.finding, count, generator)

    def held_out(self, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        """Rows to test on."""
        return self._drawn(self.testing, count, generator)

    @property
    def split(self) -> bool:
        """Whether the rows to test on are others than those to find on."""
        return self.testing is not self.finding

    def _drawn(self, rows: Tensor, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        drawn = rows[torch.randint(len(rows), (count,), generator=generator)].to(self.x.device)
        return self.x[drawn], self.y[drawn]


def dataset(x: Shaped[Tensor, "N *s"], y: Shaped[Tensor, "M *t"]) -> Rows:
    """Rows of a user's data set, drawn with replacement; a random half of them only for tests.

    Raises:
        InputError: No rows, or not as many in x as in y.

    >>> rows = dataset(torch.arange(6.0), torch.arange(6.0))
    >>> len(rows.finding), len(rows.testing), rows.split
    (3, 3, True)
    """
    if x.shape[0] == 0:
        raise InputError("the data set has no rows")
    if x.shape[0] != y.shape[0]:
        raise InputError(f"x and y: expected as many rows in both, got {x.shape[0]} and {y.shape[0]}")
    order = torch.randperm(x.shape[0], generator=Generator().manual_seed(0))
    kept = len(order) // 2
    finding = order[kept:]
    return Rows(x, y, finding, order[:kept] if kept else finding)


def floating_inputs(source: DataSource) -> DataSource:
    """The same data with inputs in float64: for bytes and other whole numbers that are no tokens."""
    if isinstance(source, Rows):
        return replace(source, x=source.x.double())

    def draw(count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        x, y = source(count, generator)
        return x.double(), y

    return draw


def normal_parameters(layout: Layout, scale: float = 1.0) -> ParameterSource:
    """Normal parameters around zero: deviation `scale / sqrt(fan-in)` for matrices, `scale` for the rest.

    Generic points: what holds at all of them holds everywhere the loss is analytic.

    >>> draw = normal_parameters(Layout(("w",), ((2, 3),)))
    >>> draw(4, torch.Generator().manual_seed(0)).shape
    torch.Size([4, 6])
    """
    deviations = torch.cat(
        [
            torch.full((size,), scale / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 else scale)
            for shape, size in zip(layout.shapes, layout.sizes, strict=True)
        ]
    ).double()

    def draw(count: int, generator: Generator) -> Tensor:
        return deviations * torch.randn(count, layout.size, generator=generator, dtype=torch.float64)

    return draw


def parameters_near(theta: Float[Tensor, "n"], scale: float) -> ParameterSource:
    """Normal parameters around given ones (a trained network's, say), with one deviation for all.

    Raises:
        InputError: A scale that is not positive.
    """
    if not 0 < scale < math.inf:
        raise InputError(f"scale: expected a positive deviation around the given parameters, got {scale}")
    centre = theta.detach().double().cpu()

    def draw(count: int, generator: Generator) -> Tensor:
        return centre + scale * torch.randn(count, len(centre), generator=generator, dtype=torch.float64)

    return draw
