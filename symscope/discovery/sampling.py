"""Sources of parameters and data: generic ones for discovery, fresh ones for verification.

For those who draw points of their own, or write a source of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int, Shaped
from torch import Generator, Tensor

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.errors import InputError
from symscope.numerics import check_memory, checked

__all__ = [
    "DataSource",
    "DatasetRows",
    "ParameterPoints",
    "ParameterSource",
    "class_data",
    "dataset",
    "gaussian_data",
    "normal_parameters",
    "parameters_near",
    "token_data",
]

DataSource = Callable[[int, Generator], tuple[Tensor, Tensor]]
"""`source(count, generator)`: inputs and targets of so many samples."""

ParameterSource = Callable[[int, Generator], Tensor]
"""`source(count, generator)`: so many flat parameter vectors."""


@checked
@final
@dataclass(frozen=True)
class ParameterPoints:
    """Independent points: parameter vectors, each with a batch of samples of its own.

    Attributes:
        theta: Flat parameters.
        x: Inputs; `x[i]` is the batch that goes with `theta[i]`.
        y: Targets of the batches.
    """

    theta: Float[Tensor, "p n"]
    x: Shaped[Tensor, "p b *s"]
    y: Shaped[Tensor, "p b *t"]

    @property
    def count(self) -> int:
        """Number of parameter vectors."""
        return self.theta.shape[0]

    @property
    def batch(self) -> int:
        """Number of samples in each batch."""
        return self.x.shape[1]

    def at(self, theta: Float[Tensor, "p n"]) -> ParameterPoints:
        """The same batches with other parameters, taken as they are, NaN included."""
        return ParameterPoints(theta, self.x, self.y)


@checked
def gaussian_data(inputs: Sequence[int], targets: Sequence[int], scale: float = 1.0) -> DataSource:
    """Inputs and targets with independent normal entries.

    Args:
        inputs: Shape of one input.
        targets: Shape of one target.
        scale: Standard deviation of every entry.

    >>> x, y = gaussian_data((3,), (2,))(5, torch.Generator().manual_seed(0))
    >>> x.shape, y.shape
    (torch.Size([5, 3]), torch.Size([5, 2]))
    """

    def draw(count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        x = torch.randn(count, *inputs, generator=generator, dtype=torch.float64)
        y = torch.randn(count, *targets, generator=generator, dtype=torch.float64)
        return scale * x, scale * y

    return draw


@checked
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


@checked
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


@checked
@final
@dataclass(frozen=True, eq=False)
class DatasetRows:
    """Rows of a user's data set, drawn with replacement: a `DataSource` that holds some out for tests.

    Attributes:
        x: Inputs of all rows.
        y: Targets of all rows.
        search_rows: Row numbers that symmetries are searched on.
        test_rows: Row numbers that symmetries are tested on; `search_rows` itself when there is one row.
    """

    x: Shaped[Tensor, "N *s"]
    y: Shaped[Tensor, "N *t"]
    search_rows: Int[Tensor, "f"]
    test_rows: Int[Tensor, "t"]

    def __call__(self, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        return self._random_rows(self.search_rows, count, generator)

    def held_out(self, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        """Rows to test on."""
        return self._random_rows(self.test_rows, count, generator)

    @property
    def has_test_rows(self) -> bool:
        """Whether the rows to test on are others than those searched on."""
        return self.test_rows is not self.search_rows

    def _random_rows(self, rows: Tensor, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        check_memory("the sample", 8 * count * self.x[0].numel(), "draw fewer rows")
        drawn = rows[torch.randint(len(rows), (count,), generator=generator)].to(self.x.device)
        return self.x[drawn], self.y[drawn]


@checked
def dataset(x: Shaped[Tensor, "N *s"], y: Shaped[Tensor, "M *t"]) -> DatasetRows:
    """Rows of a user's data set, drawn with replacement; a random half of them is held out for tests.

    Raises:
        InputError: No rows, or not as many in x as in y.

    >>> rows = dataset(torch.arange(6.0), torch.arange(6.0))
    >>> len(rows.search_rows), len(rows.test_rows), rows.has_test_rows
    (3, 3, True)
    """
    if x.ndim < 1 or y.ndim < 1 or x.shape[0] == 0:
        raise InputError(f"the data set has no rows: x and y are {tuple(x.shape)} and {tuple(y.shape)}")
    if x.shape[0] != y.shape[0]:
        raise InputError(f"x and y: expected as many rows in both, got {x.shape[0]} and {y.shape[0]}")
    order = torch.randperm(x.shape[0], generator=Generator().manual_seed(0))
    tests = len(order) // 2
    searched = order[tests:]
    return DatasetRows(x, y, searched, order[:tests] if tests else searched)


def floating_inputs(source: DataSource) -> DataSource:
    """The same data with inputs in float64: for bytes and other whole numbers that are not tokens."""
    if isinstance(source, DatasetRows):
        return replace(source, x=source.x.double())

    def draw(count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        x, y = source(count, generator)
        return x.double(), y

    return draw


@checked
def normal_parameters(layout: ParameterLayout, scale: float = 1.0) -> ParameterSource:
    """Normal parameters around zero: deviation `scale / sqrt(fan-in)` for matrices, `scale` for the rest.

    They are generic: an identity that holds at such a draw holds, with probability one, wherever the loss is
    analytic.

    >>> draw = normal_parameters(ParameterLayout(("w",), ((2, 3),)))
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


@checked
def parameters_near(theta: Float[Tensor, "n"], scale: float) -> ParameterSource:
    """Normal parameters around given ones (a trained network's, say), with one standard deviation for all.

    Raises:
        InputError: A scale that is not positive.
    """
    if not 0 < scale < math.inf:
        raise InputError(f"scale: expected a positive deviation around the given parameters, got {scale}")
    centre = theta.detach().double().cpu()

    def draw(count: int, generator: Generator) -> Tensor:
        return centre + scale * torch.randn(count, len(centre), generator=generator, dtype=torch.float64)

    return draw
