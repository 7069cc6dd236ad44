"""Random small networks and data for any group by name, shared by the experiments of this paper."""

from __future__ import annotations

import math

import torch

from symscope.dynamics import DeclaredNetwork, TrainingProblem, declare_network, equivariant_weights
from symscope.dynamics.layer_steps import LayerStep, batch_normalisation, pointwise
from symscope.dynamics.layer_vectors import LayerWeights, gaussian_weights
from symscope.errors import InputError
from symscope.groups import FiniteGroup, Representation, parse, permutation, trivial
from symscope.groups.constructions import regular
from symscope.networks import Loss
from symscope.networks.losses import half_squared_loss, soft_cross_entropy_loss

WIDE = 9  # spaces from this size on get one channel, so that all matrices stay small
ACTIVATIONS = ("tanh", "softplus", "leaky_relu", "gelu")


def natural_space(name: str) -> Representation:
    """What a group acts on: images for C3xC3, points for C6, D4 and S4.

    >>> natural_space("C3xC3").dim, natural_space("D4").dim
    (9, 4)
    """
    group = parse(name)
    if not isinstance(group, FiniteGroup):
        raise InputError(f"expected a finite group with listed elements, got {group.name}.")
    return regular(group) if "x" in name else permutation(group)


def random_network(name: str, generator: torch.Generator) -> DeclaredNetwork:
    """Two or three layers with random channels, a random nonlinearity, sometimes batch normalisation.

    Graphs (V * V) enter for symmetric groups, images or points for others.
    """
    v = natural_space(name)
    group = v.group

    def pick(count: int) -> int:
        return int(torch.randint(count, (1,), generator=generator))

    channels = 1 if v.dim >= WIDE else 2
    hidden = [channels * v, v + trivial(group), (channels * v) + trivial(group)]
    source = v * v if name.startswith("S") else v
    spaces = [source, hidden[pick(3)]]
    if pick(2) and v.dim < WIDE:
        spaces.append(trivial(group, 2) if pick(2) else v)
    # a V after trivial channels would be constant, and its classes equally likely whatever the layers
    invariant = spaces[-1].dim == 2 and spaces[-1].name == trivial(group, 2).name
    outputs = [trivial(group, 2), trivial(group)] if invariant else [v, trivial(group, 2), trivial(group)]
    spaces.append(outputs[pick(len(outputs))])
    activation: LayerStep = pointwise(ACTIVATIONS[pick(len(ACTIVATIONS))])
    first = (batch_normalisation(), activation) if pick(3) == 0 else (activation,)
    return declare_network(spaces, [first, *[(activation,)] * (len(spaces) - 3), ()])


def random_problem(name: str, generator: torch.Generator) -> TrainingProblem:
    """Gaussian data without symmetry, enough of it that targets can make layers stationary."""
    network = random_network(name, generator)
    width = network.output.dim
    classes = width > 1 and int(torch.randint(2, (1,), generator=generator)) == 1
    # of the targets of one sample, one fewer is free when they are probabilities
    samples = math.ceil(network.equivariant_dimension / (width - classes)) + 6
    x = torch.randn(samples, network.sources[0].dim, generator=generator, dtype=torch.float64)
    y = torch.rand(samples, width, generator=generator, dtype=torch.float64)
    loss: Loss = soft_cross_entropy_loss if classes else half_squared_loss
    return TrainingProblem(network, loss, x, y / y.sum(dim=-1, keepdim=True) if classes else y)


def taught_problem(
    name: str, samples: int, generator: torch.Generator, layers: int = 2
) -> tuple[TrainingProblem, LayerWeights]:
    """A smooth network, data from a teacher without symmetry, and equivariant layers to start from.

    Two layers with tanh between them, or one linear layer, whose risk is convex.
    The teacher's labels are not equivariant, as real ones seldom are; only augmentation asks for it.
    """
    v = natural_space(name)
    source = v * v if name.startswith("S") else v
    channels = 1 if v.dim >= WIDE else 2
    hidden = [channels * v] if layers == 2 else []
    network = declare_network([source, *hidden, trivial(v.group, 2)], "tanh")
    x = torch.randn(samples, source.dim, generator=generator, dtype=torch.float64)
    teacher = gaussian_weights(network, generator, scale="preserving")
    start = equivariant_weights(network, generator, scale="preserving")
    return TrainingProblem(network, half_squared_loss, x, network.forward(teacher, x)), start


def check_groups(groups: tuple[str, ...]) -> None:
    """Raise unless there is at least one group and all are finite and listed."""
    if not groups:
        raise InputError("groups: expected at least one name such as C6, D4, S4 or C3xC3, got none")
    for name in groups:
        natural_space(name)
