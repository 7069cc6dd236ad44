"""A second list of planted faults, written after the rules of the audit were set, and not used to set them.

Other networks, sizes, groups and kinds of samples than in `planted`: residual networks, series, colour
images, vectors, transformers, mirrors, and a C4 network under C8. On its first run 14 of 16 were named first;
the misses (a linear layer on maps that functions had changed, and e3nn's layers, whose inside the group moves
in its own way) were mended afterwards.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from symscope.data import LabelledData, custom_action
from symscope.groups import cyclic
from symscope.networks.architectures import vit
from tests.auditing.planted import (
    CLASSES,
    Fault,
    aligned,
    circular,
    fresh,
    head,
    mlp,
    own,
    rot,
    shifts,
    subject,
    trained,
    turned,
    turns,
)
from tests.auditing.planted_networks import Averaged, TurnedConv


class Residual(nn.Module):
    """Two residual blocks of circular convolutions with batch norm, a mean, and one chosen block between."""

    def __init__(self, middle: nn.Module | None = None) -> None:
        super().__init__()
        self.stem = circular(1, 8)
        self.first, self.second = (nn.Sequential(circular(8), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(2))
        self.middle = middle or nn.Identity()
        self.out = nn.Sequential(*head())

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.stem(x))
        x = x + self.first(x)
        x = self.middle(x)
        return self.out(x + self.second(x))


def residual_padding() -> dict[str, Any]:
    return shifts(lambda: Residual(nn.Conv2d(8, 8, 5, padding=2)), aligned())


def residual_stride() -> dict[str, Any]:
    return shifts(lambda: Residual(nn.AvgPool2d(2)), turned("C8 shift-x"))


class Series(nn.Module):
    """A convolution along a series with circular padding, the mean, and a linear layer."""

    def __init__(self, mode: str, flat: bool) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, padding=2, padding_mode=mode)
        self.again = nn.Conv1d(8, 8, 5, padding=2, padding_mode="circular")
        self.flat, self.out = flat, nn.Linear(128 if flat else 8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.again(torch.relu(self.conv(x))))
        return self.out(x.flatten(1) if self.flat else x.mean(2))


def series(mode: str, flat: bool) -> dict[str, Any]:
    """Series of 16 steps, each class a pattern at a place of its own."""
    generator = torch.Generator().manual_seed(3)
    base = torch.randn(CLASSES, 16, generator=generator, dtype=torch.float64).cumsum(1)
    labels = torch.arange(240) % CLASSES
    x = base[labels] + 0.7 * torch.randn(240, 16, generator=generator, dtype=torch.float64)
    data = LabelledData(x[:, None], labels, "series", "drawn")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Series(mode, flat)
        optimiser = torch.optim.Adam(net.parameters(), 1e-2)
        for _ in range(40):
            loss = functional.cross_entropy(net(data.x.float()), data.labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return subject(net.eval(), data, "C16 shift-x", builder=partial(Series, mode, flat))


def colour_net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, CLASSES))


def aligned_colours() -> dict[str, Any]:
    data = aligned(channels=3)
    return subject(trained(colour_net, data, 40), data, "D4 dihedral", builder=colour_net)


def mirrored_aligned() -> dict[str, Any]:
    return subject(trained(mlp, aligned(), 60), aligned(), "C2 flip-x", builder=mlp)


def mirrored_turned() -> dict[str, Any]:
    data = turned("C2 flip-x", count=30, noise=1.0)
    audited = turned("C2 flip-x", noise=1.0, seed=4)
    return subject(trained(mlp, data, 300), audited, "C2 flip-x", builder=mlp)


def transformer() -> nn.Module:
    return vit(dtype=torch.float32, side=8, patch=2, dim=16, depth=1, heads=2, hidden=16, classes=CLASSES)


def vectors() -> LabelledData:
    generator = torch.Generator().manual_seed(8)
    centres = torch.tensor([[2.0, 0.5], [-1.0, 2.0], [0.5, -2.0]], dtype=torch.float64)
    labels = torch.arange(240) % CLASSES
    noise = 0.5 * torch.randn(240, 2, generator=generator, dtype=torch.float64)
    return LabelledData(centres[labels] + noise, labels, "vectors", "drawn")


def turn_vectors(g: int, v: Tensor) -> Tensor:
    angle = torch.tensor(2 * torch.pi * g / 5, dtype=v.dtype)
    c, s = angle.cos(), angle.sin()
    return v @ torch.stack([torch.stack([c, -s]), torch.stack([s, c])]).T


def vector_mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, CLASSES))


def trained_vectors(data: LabelledData) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = vector_mlp()
        optimiser = torch.optim.Adam(net.parameters(), 1e-2)
        for _ in range(100):
            loss = functional.cross_entropy(net(data.x.float()), data.labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return net.eval()


def aligned_vectors() -> dict[str, Any]:
    data = vectors()
    return subject(trained_vectors(data), data, own(cyclic(5), turn_vectors, 1), builder=vector_mlp)


def vectors_twice_as_far() -> dict[str, Any]:
    """Element g turns by 2 g fifths and 1 is left out: a numbering, but each step is another element's."""
    order = [0, 2, 4, 3, 1]
    action = custom_action(cyclic(5), lambda g, v: turn_vectors(order[g], v), 1)
    data = vectors()
    return subject(trained_vectors(data), data, action, builder=vector_mlp)


def c4_under_c8() -> dict[str, Any]:
    """Quarter turns are built in by averaging, eighths are not, and the data is upright."""
    build = partial(Averaged, partial(mlp, 12), "C4 rotation")
    data = aligned(side=12)
    return subject(trained(build, data, 40), data, "C8 rotation", builder=build)


def dihedral_one_layer() -> dict[str, Any]:
    """Filters symmetric under turns and not under mirrors, audited with both."""

    class Chiral(TurnedConv):
        """Turned copies of one filter, weighted in their order: turns permute nothing, mirrors do."""

    def build() -> nn.Module:
        layers = [TurnedConv(1, 8, True), nn.ReLU(), Chiral(8, 8, size=5, padding=2), nn.ReLU(), *head()]
        return nn.Sequential(*layers)

    data = turned("D4 dihedral")
    return subject(trained(build, data, 40), data, "D4 dihedral", builder=build)


def image_target_padding() -> dict[str, Any]:
    def build() -> nn.Module:
        return nn.Sequential(circular(), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), circular(8, 1))

    return subject(fresh(build), aligned(), "C8 shift-x", target_action="image", builder=build)


def wrong_direction_image() -> dict[str, Any]:
    """Outputs are maps that turn with the samples; the target action given turns them the other way."""
    net = fresh(lambda: nn.Sequential(TurnedConv(1, 8), nn.ReLU(), TurnedConv(8, 1)))
    target = own(cyclic(4), lambda g, y: rot(y, -g), 2, "backwards")
    return subject(net, aligned(), "C4 rotation", target_action=target)


def shuffled_columns() -> dict[str, Any]:
    """Shifts by 3 g columns where g are meant: an automorphism of C8, with image outputs moved by g."""
    action = own(cyclic(8), lambda g, x: x.roll(3 * g, -1), name="shift")
    target = own(cyclic(8), lambda g, y: y.roll(g, -1), name="shift")
    net = fresh(lambda: nn.Sequential(circular(), nn.ReLU(), circular(8, 1)))
    return subject(net, aligned(), action, target_action=target)


def e3nn_layers(broken: bool = False) -> dict[str, Any]:
    """Two vectors in space to three invariants by e3nn's tensor product, turned in fifths about an axis."""
    from e3nn import o3

    class Product(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.product = o3.FullyConnectedTensorProduct("2x1o", "2x1o", "8x0e")
            self.out = nn.Sequential(nn.SiLU(), nn.Linear(8, CLASSES))
            self.free = nn.Linear(6, CLASSES)

        def forward(self, x: Tensor) -> Tensor:
            invariant = self.out(self.product(x, x))
            return invariant + 0.3 * self.free(x) if broken else invariant

    generator = torch.Generator().manual_seed(1)
    x = torch.randn(120, 6, generator=generator, dtype=torch.float64)
    data = LabelledData(x, torch.arange(120) % CLASSES, "pairs of vectors", "drawn")
    steps = [o3.angles_to_matrix(*torch.tensor([0.0, 0.0, 2 * torch.pi * k / 5])) for k in range(5)]
    wigner = [o3.Irrep("1o").D_from_matrix(one).double() for one in steps]

    def turn(g: int, v: Tensor) -> Tensor:
        return (v.reshape(len(v), 2, 3) @ wigner[g].to(v).T).reshape(v.shape)

    return subject(fresh(Product), data, own(cyclic(5), turn, 1, "turn in space"), builder=Product)


MORE: tuple[Fault, ...] = (
    Fault("residual network, padding", residual_padding, ("architecture",), ("padding",)),
    Fault("residual network, pooling", residual_stride, ("architecture",), ("AvgPool2d",)),
    Fault("series, zero padding", partial(series, "zeros", False), ("architecture",), ("padding",)),
    Fault("series, flatten", partial(series, "circular", True), ("architecture",), ("flatten",)),
    Fault("colours, aligned", aligned_colours, ("data",)),
    Fault("mirror, aligned", mirrored_aligned, ("data",)),
    Fault("mirror, overfitting", mirrored_turned, ("training",)),
    Fault("transformer, aligned", lambda: turns(transformer, aligned()), ("data", "architecture")),
    Fault("vectors, aligned", aligned_vectors, ("data",)),
    Fault("vectors, misnumbered", vectors_twice_as_far, ("action",), ("umber",)),
    Fault("C4 network under C8", c4_under_c8, ("data", "architecture")),
    Fault("one layer that mirrors break", dihedral_one_layer, ("architecture",), ("Chiral",)),
    Fault("images, zero padding", image_target_padding, ("architecture",), ("padding",)),
    Fault("images turned backwards", wrong_direction_image, ("action",), ("target",)),
    Fault("automorphism of C8", shuffled_columns, ("action",), ("target", "umber")),
    *(
        [Fault("e3nn with a free layer", partial(e3nn_layers, True), ("architecture",), ("'free'",))]
        if find_spec("e3nn")
        else []
    ),
)

MORE_CLEAN: tuple[Fault, ...] = (
    Fault("residual network", lambda: shifts(Residual, aligned()), ()),
    Fault("series", partial(series, "circular", False), ()),
    *([Fault("e3nn tensor product", e3nn_layers, ())] if find_spec("e3nn") else []),
)
