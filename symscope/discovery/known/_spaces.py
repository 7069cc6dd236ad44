"""Hidden spaces of a network: the units between layers, and which parameters belong to each unit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from symscope.discovery.candidates import Transformation, signed_permutation
from symscope.discovery.fields import LinearField
from symscope.errors import InputError
from symscope.numerics import check_count, check_memory, checked


class ActivationKind(Enum):
    """What lies between the layers of a hidden space, and so what may act on it."""

    LINEAR = "nothing but linear maps of single units"
    HOMOGENEOUS = "positively homogeneous activations"
    ODD = "odd activations"
    ELEMENTWISE = "other activations of single units"


@final
@dataclass(frozen=True)
class HiddenSide:
    """The weights of one layer that belong to the units of a hidden space.

    Attributes:
        parameter: Name of the weight.
        positions: `positions[a]`, flat positions of the weights of unit a.
        transposed: Whether a matrix A of the units acts as `-A^T` here: weights that read the units.
    """

    parameter: str
    positions: Int[Tensor, "h r"]
    transposed: bool


@checked
@final
@dataclass(frozen=True)
class HiddenSpace:
    """The units between layers.

    Attributes:
        name: Name in words, "hidden units between 0 and 2".
        sides: Weights before and after the units.
        between: What lies between these weights.
        shifts: Pairs (positions by unit, biases): with biases None the positions are biases before that a
            constant is added to, otherwise weights after, whose units are added to those biases.
        mixes: Whether units may be mixed where nothing but linear maps lies between (not so when a side has
            one number a unit, such as the scale of a normalisation).
        permutes: Whether units are alike, so that they can change places.
        carried: Further positions by unit, which units take with them when they change places: slopes of a
            PReLU, scales of a normalisation, the layer of a gate.
    """

    name: str
    sides: tuple[HiddenSide, ...]
    between: ActivationKind
    shifts: tuple[tuple[Tensor, Tensor | None], ...] = ()
    mixes: bool = True
    permutes: bool = True
    carried: tuple[Int[Tensor, "h _r"], ...] = ()

    def __post_init__(self) -> None:
        sizes = {side.positions.shape[0] for side in self.sides}
        if len(sizes) != 1:
            raise InputError(f"{self.name}: every side needs the same number of units, got {sorted(sizes)}")

    @property
    def size(self) -> int:
        """Number of units."""
        return self.sides[0].positions.shape[0]

    def _check_units(self, *units: int) -> None:
        for unit in units:
            check_count("unit", unit, 0, self.size - 1)

    def mixing(self, a: int, b: int) -> LinearField:
        """`V = (E_ab W1, -W2 E_ab)`: unit b flows into unit a, and is taken back by the layer after."""
        self._check_units(a, b)
        rows, columns, signs = [], [], []
        for side in self.sides:
            to, source = (b, a) if side.transposed else (a, b)
            rows.append(side.positions[to])
            columns.append(side.positions[source])
            signs.append(torch.full((side.positions.shape[1],), -1.0 if side.transposed else 1.0))
        name = f"rescaling of unit {a} of the {self.name}" if a == b else ""
        return sparse_field(
            torch.cat(rows),
            torch.cat(columns),
            torch.cat(signs).double(),
            name or f"mixing of unit {b} into unit {a} of the {self.name}",
        )

    def rescaling(self, a: int) -> LinearField:
        """Weights before unit a grow, those after shrink."""
        return self.mixing(a, a)

    def shift(self, a: int) -> LinearField:
        """`V(b1)_a = 1, V(b2) = -W2[:, a]`: unit a is shifted, and the bias after takes it back.

        Raises:
            InputError: The space has no biases before and after.
        """
        self._check_units(a)
        rows, columns, values, constants = [], [], [], []
        for positions, biases in self.shifts:
            if biases is None:
                constants.append(positions[a])
            else:
                rows.append(biases)
                columns.append(positions[a])
                values.append(-torch.ones(len(biases), dtype=torch.float64))
        if not rows or not constants:
            raise InputError(f"{self.name}: there are no biases before and after these units to shift")
        linear = sparse_field(torch.cat(rows), torch.cat(columns), torch.cat(values), "")
        support = torch.unique(torch.cat([linear.support, *constants]))
        matrix = torch.zeros(len(support), len(support), dtype=torch.float64)
        at = torch.searchsorted(support, linear.support)
        matrix[at[:, None], at] = linear.matrix
        offset = torch.isin(support, torch.cat(constants)).double()
        return LinearField(support, matrix, offset, f"shift of unit {a} of the {self.name}")

    def flip(self, a: int, parameters: int) -> Transformation:
        """All weights of unit a change sign, before and after."""
        self._check_units(a)
        check_memory("the transformation", 16 * parameters, "give the number of parameters of the network")
        signs = torch.ones(parameters, dtype=torch.float64)
        for side in self.sides:
            signs[side.positions[a]] = -1
        return signed_permutation(
            torch.arange(parameters), signs, f"sign flip of unit {a} of the {self.name}"
        )

    def swap(self, a: int, b: int, parameters: int) -> Transformation:
        """Units a and b change places."""
        self._check_units(a, b)
        check_memory("the transformation", 16 * parameters, "give the number of parameters of the network")
        source = torch.arange(parameters)
        for positions in (*(side.positions for side in self.sides), *self.carried):
            source[positions[a]], source[positions[b]] = positions[b], positions[a]
        name = f"exchange of units {a} and {b} of the {self.name}"
        return signed_permutation(source, torch.ones(parameters, dtype=torch.float64), name)


def sparse_field(
    rows: Int[Tensor, "z"], columns: Int[Tensor, "z"], values: Float[Tensor, "z"], name: str
) -> LinearField:
    """A linear field from the entries of its matrix; repeated entries add up.

    >>> sparse_field(torch.tensor([4]), torch.tensor([7]), torch.tensor([2.0]), "").matrix
    tensor([[0., 2.],
            [0., 0.]])
    """
    support, where = torch.unique(torch.cat([rows, columns]), return_inverse=True)
    matrix = values.new_zeros(len(support), len(support))
    matrix.index_put_((where[: len(rows)], where[len(rows) :]), values, accumulate=True)
    return LinearField(support, matrix, values.new_zeros(len(support)), name)
