"""The paper's small networks, and actions on their parameters, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import torch
from torch import Tensor, nn

from symscope.discovery import ParameterProblem, gaussian_data, parameter_problem
from symscope.discovery.learned import LinearAction, MLPAction
from symscope.errors import InputError, nearest


@final
class Layers(nn.Module):
    """`W_l s(... s(W1 x))` without biases, with weights named W1, W2, ...; `skip` adds layer 1 to layer 2."""

    def __init__(self, sizes: tuple[int, ...], activation: nn.Module, *, skip: bool = False) -> None:
        super().__init__()
        for number, (here, there) in enumerate(pairwise(sizes), 1):
            self.add_module(f"W{number}", nn.Linear(here, there, bias=False))
        self.depth, self.activation, self.skip = len(sizes) - 1, activation, skip

    def forward(self, x: Tensor) -> Tensor:
        hidden = x
        for number in range(1, self.depth + 1):
            before = hidden
            hidden = self.get_submodule(f"W{number}")(hidden)
            if number < self.depth:
                hidden = self.activation(hidden)
            if self.skip and number == 2:
                hidden = hidden + before
        return hidden


@final
@dataclass(frozen=True)
class SmallNetwork:
    """Sizes, activation, and how many generators the paper's picture of it has or could have."""

    sizes: tuple[int, ...]
    activation: Callable[[], nn.Module]
    generators: int
    skip: bool = False


NETWORKS = {
    "linear 1-1-1": SmallNetwork((1, 1, 1), nn.Identity, 1),
    "linear 1-2-1": SmallNetwork((1, 2, 1), nn.Identity, 3),
    "ReLU 2-2-2": SmallNetwork((2, 2, 2), nn.ReLU, 2),
    "leaky ReLU 2-3-2": SmallNetwork((2, 3, 2), lambda: nn.LeakyReLU(0.1), 3),
    "sigmoid 3-3-1": SmallNetwork((3, 3, 1), nn.Sigmoid, 3),
    "tanh 3-3-1": SmallNetwork((3, 3, 1), nn.Tanh, 3),
    "tanh 2-2-2-1": SmallNetwork((2, 2, 2, 1), nn.Tanh, 3),
    "tanh 2-2-2-1 with skip": SmallNetwork((2, 2, 2, 1), nn.Tanh, 3, skip=True),
}


def small_network(name: str) -> SmallNetwork:
    """The network of a name.

    Raises:
        InputError: An unknown name.

    >>> small_network("sigmoid 3-3-1").sizes
    (3, 3, 1)
    """
    if name not in NETWORKS:
        raise InputError(f"network: unknown {name!r}; {nearest(name, NETWORKS)}")
    return NETWORKS[name]


def small_problem(name: str) -> ParameterProblem:
    """A network with squared loss, normal parameters and normal data (Sec. 5.3).

    Raises:
        InputError: An unknown name.

    >>> small_problem("sigmoid 3-3-1").layout.names
    ('W1.weight', 'W2.weight')
    """
    chosen = small_network(name)
    module = Layers(chosen.sizes, chosen.activation(), skip=chosen.skip)
    return parameter_problem(module, "squared", gaussian_data(chosen.sizes[:1], chosen.sizes[-1:]))


@final
class KeptAction(nn.Module):
    """An action network that leaves some parameters where they are.

    Args:
        parameters: n.
        data: Numbers of the data it looks at.
        kept: True at parameters that stay.
    """

    kept: Tensor

    def __init__(self, parameters: int, data: int, kept: Tensor) -> None:
        super().__init__()
        self.network = MLPAction(parameters, data, exact_identity=True)
        self.register_buffer("kept", kept)

    def forward(self, g: Tensor, theta: Tensor, data: Tensor) -> Tensor:
        return torch.where(self.kept, theta, self.network(g, theta, data))


def action_builder(name: str, made: ParameterProblem, data: int) -> Callable[[int], nn.Module]:
    """ "network" (the paper's), "linear" (`g theta`), or "without W2": a network that leaves W2 as it is.

    Raises:
        InputError: An unknown name.
    """
    if name == "network":
        return lambda seed: MLPAction(made.size, data)
    if name == "linear":
        return lambda seed: LinearAction()
    if name == "without W2":
        kept = torch.zeros(made.size, dtype=torch.bool)
        kept[made.layout.indices("W2.weight").flatten()] = True
        return lambda seed: KeptAction(made.size, data, kept)
    raise InputError(f"action: unknown {name!r}; {nearest(name, ('network', 'linear', 'without W2'))}")
