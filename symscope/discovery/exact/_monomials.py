"""Dictionaries of monomials in parameters and data, for polynomial and data-dependent fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery.fields import ParameterField
from symscope.errors import InputError
from symscope.numerics import check_memory, checked


@checked
@final
@dataclass(frozen=True)
class MonomialDictionary:
    """Monomials `prod theta_i^a_i prod x_j^b_j prod y_k^c_k` of parameters and one sample.

    Variables are numbered: the n parameters, then the entries of the input, then those of the target. A
    monomial is the tuple of its variables' numbers, with repetition; `()` is the constant 1.

    Attributes:
        parameters: Number of parameters n.
        inputs: Number of entries of one input.
        targets: Number of entries of one target.
        terms: Monomials, each the numbers of its variables.

    >>> squares = MonomialDictionary(1, 1, 0, ((0, 0), (0, 1)))
    >>> squares.values(torch.tensor([3.0]), torch.tensor([[2.0]]), torch.zeros(1, 0))
    tensor([9., 6.])
    """

    parameters: int
    inputs: int
    targets: int
    terms: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        variables = self.parameters + self.inputs + self.targets
        if not self.terms:
            raise InputError("a dictionary needs at least one monomial")
        if any(not 0 <= v < variables for term in self.terms for v in term):
            raise InputError(f"monomials: expected variables from 0 to {variables - 1}, got {self.terms}")

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def data_dependent(self) -> tuple[bool, ...]:
        """Which monomials have data in them."""
        return tuple(any(v >= self.parameters for v in term) for term in self.terms)

    def values(
        self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"]
    ) -> Float[Tensor, "k"]:
        """All monomials at one point; monomials with data need batches of one sample.

        Raises:
            InputError: A larger batch, or data of another size.
        """
        variables = [theta]
        if any(self.data_dependent):
            if x.shape[0] != 1:
                raise InputError(
                    f"monomials in the data belong to one sample; expected a batch of 1, got {x.shape[0]}"
                )
            parts = (("inputs", x, self.inputs), ("targets", y, self.targets))
            for name, data, size in parts:
                if size and data[0].numel() != size:
                    raise InputError(f"{name}: expected {size} numbers a sample, got {data[0].numel()}")
                if size:
                    variables.append(data[0].reshape(-1).to(theta.dtype))
        everything = torch.cat([*variables, theta.new_ones(1)])
        return everything[self._factors(theta.device)].prod(1)

    def _factors(self, device: torch.device) -> Tensor:
        """Variables of every monomial, filled up with the number of the constant 1."""
        one = self.parameters
        if any(self.data_dependent):
            one += self.inputs + self.targets
        longest = max(1, max(len(term) for term in self.terms))
        rows = [[*term, *[one] * (longest - len(term))] for term in self.terms]
        return torch.tensor(rows, device=device)

    def names(self, layout: ParameterLayout) -> list[str]:
        """Monomials in words, `0.weight[1,2] x[0]`."""
        variables = [
            *layout.entries(),
            *(f"x[{i}]" for i in range(self.inputs)),
            *(f"y[{i}]" for i in range(self.targets)),
        ]
        return [" ".join(variables[v] for v in term) or "1" for term in self.terms]


@checked
@final
@dataclass(frozen=True)
class DictionaryField(ParameterField):
    """`V(theta, x)_i = sum_k C_ik m_k(theta, x, y)`, monomials m_k in parameters and one sample.

    Attributes:
        dictionary: Monomials m_k.
        coefficients: Coefficients C.
        name: Name shown to people.
        data_dependent: Whether a monomial with data in it has a coefficient.
    """

    dictionary: MonomialDictionary
    coefficients: Float[Tensor, "n k"]
    name: str = "polynomial field"
    data_dependent: bool = False

    def __call__(
        self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"]
    ) -> Float[Tensor, "n"]:
        return self.coefficients @ self.dictionary.values(theta, x, y)


@checked
def monomials(
    parameters: int,
    degree: int,
    inputs: int = 0,
    targets: int = 0,
    data_degree: int = 0,
    lowest: int = 0,
) -> MonomialDictionary:
    """All monomials up to a degree in the parameters times all up to a degree in the data.

    Args:
        parameters: Number of parameters.
        degree: Highest degree in the parameters.
        inputs: Number of entries of one input; 0 leaves inputs out.
        targets: Number of entries of one target; 0 leaves targets out.
        data_degree: Highest degree in the data.
        lowest: Lowest degree in the parameters.

    Raises:
        InputError: Negative numbers, or lowest above degree.

    >>> len(monomials(3, 2)), monomials(2, 1, inputs=1, data_degree=1).terms
    (10, ((), (2,), (0,), (0, 2), (1,), (1, 2)))
    """
    if min(parameters, degree, inputs, targets, data_degree, lowest) < 0 or lowest > degree:
        raise InputError(
            f"expected numbers from 0 on and lowest <= degree, got parameters={parameters}, degree={degree}, "
            f"lowest={lowest}, inputs={inputs}, targets={targets}, data_degree={data_degree}"
        )
    count = _count(parameters, degree) * _count(inputs + targets, data_degree)
    check_memory("the monomials", 64 * (1 + degree + data_degree) * count, "use a lower degree")
    data = range(parameters, parameters + inputs + targets)
    terms = [
        (*own, *given)
        for own in _up_to(range(parameters), lowest, degree)
        for given in _up_to(data, 0, data_degree)
    ]
    return MonomialDictionary(parameters, inputs, targets, tuple(terms))


def _count(variables: int, degree: int) -> int:
    """Monomials up to a degree, of which there are `binomial(variables + degree, degree)`; 10^12 for more."""
    small, large = sorted((variables, degree))
    return 10**12 if large > 10**6 or small > 40 else math.comb(small + large, small)


def _up_to(variables: Sequence[int], lowest: int, highest: int) -> list[tuple[int, ...]]:
    return [c for d in range(lowest, highest + 1) for c in combinations_with_replacement(variables, d)]
