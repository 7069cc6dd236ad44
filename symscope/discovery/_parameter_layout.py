"""Which entry of the flat parameter vector is which weight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from symscope.errors import InputError, nearest


@final
@dataclass(frozen=True)
class ParameterLayout:
    """Names and shapes of the trainable parameters, in the order they lie in the flat vector.

    Attributes:
        names: Names of the parameters, as in `named_parameters()`.
        shapes: Shape of each of them.

    >>> layout = ParameterLayout(("a.weight", "a.bias"), ((2, 3), (2,)))
    >>> layout.size, layout.entry(4), layout.indices("a.bias").tolist()
    (8, 'a.weight[1,1]', [6, 7])
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.shapes) or len(set(self.names)) != len(self.names):
            raise InputError(
                f"a layout needs one shape for every name, each name once; got {self.names} and {self.shapes}"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return sum(self.sizes)

    def indices(self, name: str) -> Int[Tensor, "*shape"]:
        """Flat positions of a parameter's entries, in its own shape."""
        position = self._position(name)
        start = sum(self.sizes[:position])
        return torch.arange(start, start + self.sizes[position]).reshape(self.shapes[position])

    def entry(self, index: int) -> str:
        """The name of one entry of the flat vector, `0.weight[1,2]`.

        Raises:
            InputError: An index outside the vector.
        """
        if not 0 <= index < self.size:
            raise InputError(f"expected an index from 0 to {self.size - 1}, got {index}")
        for name, shape, size in zip(self.names, self.shapes, self.sizes, strict=True):
            if index < size:
                where = [int(i) for i in torch.unravel_index(torch.tensor(index), shape)] if shape else []
                return f"{name}[{','.join(map(str, where))}]" if where else name
            index -= size
        raise AssertionError("unreachable: the index was checked")

    def entries(self) -> list[str]:
        """Names of all entries, for the axes of a heat map."""
        return [self.entry(index) for index in range(self.size)]

    def flat(self, parameters: Mapping[str, Tensor]) -> Float[Tensor, "n"]:
        """Named parameters as one vector.

        Raises:
            InputError: A parameter is missing or has another shape.
        """
        for name, shape in zip(self.names, self.shapes, strict=True):
            if name not in parameters or tuple(parameters[name].shape) != shape:
                got = list(parameters[name].shape) if name in parameters else "nothing"
                raise InputError(f"parameter {name!r}: expected shape {list(shape)}, got {got}")
        return torch.cat([parameters[name].reshape(-1) for name in self.names])

    def named(self, theta: Float[Tensor, "n"]) -> dict[str, Tensor]:
        """A flat vector as named parameters (views of it).

        Raises:
            InputError: A vector of another length.
        """
        if theta.shape != (self.size,):
            raise InputError(f"expected a vector of {self.size} parameters, got shape {tuple(theta.shape)}")
        parts = theta.split(list(self.sizes))
        return {n: p.reshape(s) for n, p, s in zip(self.names, parts, self.shapes, strict=True)}

    def only(self, names: Sequence[str]) -> Int[Tensor, "k"]:
        """Flat positions of all entries of several parameters."""
        return torch.cat([self.indices(name).reshape(-1) for name in names])

    def _position(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"there is no parameter {name!r}; {nearest(name, self.names)}")
        return self.names.index(name)
