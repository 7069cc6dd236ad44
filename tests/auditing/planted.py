"""Planted faults: small networks, data and actions with one known fault (or two), and clean ones.

The list, and what counts as named first, was fixed before the audit's rules were tuned: the first cause has
an expected kind, and where the fault has a place its sentence contains one of the expected words.
Samples are 8 x 8 (or 9 x 9) images of three classes, smooth asymmetric patterns with noise; `aligned` ones
are all upright, `turned` ones were moved by an element drawn for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from symscope.data import Action, LabelledData, custom_action, parse_named_action
from symscope.dynamics import build_module, declare_network
from symscope.groups import cyclic, dihedral, permutation, trivial
from tests.auditing.planted_networks import (
    Averaged,
    Coordinates,
    FreeBranch,
    Moments,
    PositionBias,
    Positions,
    Rings,
    TurnedConv,
    TurnedLinear,
    turn_about_corner_pixel,
)

CLASSES = 3
DRAW = {"seed": 0}  # added to all seeds: other patterns, samples and weights


@dataclass(frozen=True)
class Fault:
    """A subject with a known fault.

    Attributes:
        name: Name in the table.
        make: Arguments of `symscope.audit`, by name.
        kinds: Kinds of cause that count as named; empty for clean subjects.
        words: Words of which the first cause's sentence has one; empty where the kind says it all.
        fast: Whether it belongs to the normal tests.
    """

    name: str
    make: Callable[[], dict[str, Any]]
    kinds: tuple[str, ...]
    words: tuple[str, ...] = ()
    fast: bool = False
    notes: str = field(default="")


def patterns(side: int = 8, channels: int = 0, seed: int = 5) -> Tensor:
    """One smooth asymmetric pattern for each class, dark outside the inscribed circle."""
    generator = torch.Generator().manual_seed(seed + 1000 * DRAW["seed"])
    rough = torch.randn(CLASSES, max(1, channels), side, side, generator=generator, dtype=torch.float64)
    smooth = functional.avg_pool2d(functional.pad(rough, (1, 1, 1, 1)), 3, 1) * 3
    away = torch.arange(side) - (side - 1) / 2
    inside = (away[:, None] ** 2 + away**2) <= (side / 2) ** 2
    return (smooth * inside) if channels else (smooth * inside)[:, 0]


def aligned(
    count: int = 240, side: int = 8, channels: int = 0, noise: float = 0.5, seed: int = 0
) -> LabelledData:
    """Samples that all stand upright."""
    generator = torch.Generator().manual_seed(seed + 1000 * DRAW["seed"])
    base = patterns(side, channels)
    labels = torch.arange(count) % CLASSES
    drawn = torch.randn(count, *base.shape[1:], generator=generator, dtype=torch.float64)
    scale = 1 + 0.2 * torch.randn(count, *[1] * (base.ndim - 1), generator=generator, dtype=torch.float64)
    return LabelledData(base[labels] * scale + noise * drawn, labels, "aligned", "drawn")


def turned(action: str | Action, elements: tuple[int, ...] | None = None, **given: Any) -> LabelledData:
    """Samples of which each was moved by an element of its own, of all or of some."""
    data = aligned(**given)
    acting = parse_named_action(action, tuple(data.x.shape[1:]))[1] if isinstance(action, str) else action
    choice = torch.tensor(elements if elements is not None else tuple(acting.group.elements))
    generator = torch.Generator().manual_seed(77)
    drawn = choice[torch.randint(len(choice), (len(data),), generator=generator)]
    moved = torch.stack([acting.act(int(g), one[None])[0] for g, one in zip(drawn, data.x, strict=True)])
    return LabelledData(moved, data.labels, "turned", "drawn")


def trained(
    build: Callable[[], nn.Module],
    data: LabelledData,
    steps: int = 120,
    rate: float = 1e-2,
    penalty: Callable[[nn.Module], Tensor] | None = None,
    seed: int = 0,
) -> nn.Module:
    """The network after full-batch training with Adam, in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(seed + 1000 * DRAW["seed"])
        net = build().train()
        x = data.x.float() if data.x.ndim == 4 else data.x.float()[:, None]
        optimiser = torch.optim.Adam(net.parameters(), rate)
        for _ in range(steps):
            loss = functional.cross_entropy(net(x), data.labels)
            loss = loss if penalty is None else loss + penalty(net)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return net.eval()


def fresh(build: Callable[[], nn.Module], seed: int = 3) -> nn.Module:
    """The network at its initial weights, a little larger, as training would leave them."""
    with torch.random.fork_rng():
        torch.manual_seed(seed + 1000 * DRAW["seed"])
        return build().eval()


def mlp(side: int = 8, width: int = 24) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(side * side, width), nn.ReLU(), nn.Linear(width, CLASSES))


def head(width: int = 8) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES)]


def circular(channels: int = 1, width: int = 8, stride: int = 1, mode: str = "circular") -> nn.Conv2d:
    return nn.Conv2d(channels, width, 3, stride=stride, padding=1, padding_mode=mode)


def shift_net(*middle: nn.Module, first: nn.Module | None = None) -> nn.Module:
    """Circular convolutions and a mean: invariant under shifts, but for what is put between."""
    return nn.Sequential(first or circular(), nn.ReLU(), *middle, circular(8), nn.ReLU(), *head())


def turn_net(*middle: nn.Module, mirrored: bool = False) -> nn.Module:
    """Convolutions with symmetric filters and a mean: invariant under quarter turns, but for the middle."""
    layers = [TurnedConv(1, 8, mirrored), nn.ReLU(), *middle, TurnedConv(8, 8, mirrored), nn.ReLU()]
    return nn.Sequential(*layers, *head())


def plain_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), *head()
    )


def subject(model: nn.Module, data: LabelledData, action: Any, **given: Any) -> dict[str, Any]:
    return {"model": model, "data": data, "action": action, **given}


def own(group: Any, function: Callable[[int, Tensor], Tensor], ndim: int = 2, name: str = "custom") -> Action:
    return custom_action(group, function, ndim, name)


def rot(x: Tensor, k: int) -> Tensor:
    return torch.rot90(x, k, (-2, -1))


# --- the action -------------------------------------------------------------------------------------------


def wrong_centre() -> dict[str, Any]:
    """Quarter turns about a pixel beside the centre, what leaves coming back on the other side."""
    action = own(cyclic(4), turn_about_corner_pixel, name="rotation about a pixel")
    return subject(trained(turn_net, turned("C4 rotation"), 30), turned("C4 rotation"), action)


def wrong_centre_grid() -> dict[str, Any]:
    """Eighths of a turn by bilinear interpolation about (h/2, w/2)."""

    def turn(g: int, x: Tensor) -> Tensor:
        side = x.shape[-1]
        angle = torch.tensor(2 * torch.pi * g / 8, dtype=x.dtype)
        axis = torch.arange(side, dtype=x.dtype) - side / 2
        rows, columns = torch.meshgrid(axis, axis, indexing="ij")
        at_r = angle.cos() * rows + angle.sin() * columns + side / 2
        at_c = -angle.sin() * rows + angle.cos() * columns + side / 2
        grid = torch.stack([(2 * at_c + 1) / side - 1, (2 * at_r + 1) / side - 1], -1)
        return functional.grid_sample(x[:, None], grid.expand(len(x), -1, -1, -1), align_corners=False)[:, 0]

    data = aligned(side=16, noise=0.2)
    return subject(trained(partial(Rings, 16), data), data, own(cyclic(8), turn, name="rotation"))


class Columns(nn.Module):
    """Invariant under shifts along x alone: convolution and mean along rows, then a linear layer on rows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 6, (1, 3), padding=(0, 1), padding_mode="circular")
        self.out = nn.Linear(6 * 8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.relu(self.conv(x)).mean(-1).flatten(1))


def swapped_axes() -> dict[str, Any]:
    data = turned("C8 shift-x")
    action = own(cyclic(8), lambda g, x: x.roll(g, -2), name="shift")
    return subject(trained(Columns, data), data, action)


def numbering_c4() -> dict[str, Any]:
    order = [0, 2, 1, 3]
    data = turned("C4 rotation")
    return subject(trained(turn_net, data, 30), data, own(cyclic(4), lambda g, x: rot(x, order[g])))


def numbering_d4() -> dict[str, Any]:
    """Mirrors in an order that is not the group's."""
    order = [0, 1, 2, 3, 5, 4, 6, 7]
    right = parse_named_action("D4", (8, 8))[1]
    data = turned("D4 dihedral")
    net = trained(partial(turn_net, mirrored=True), data, 30)
    return subject(net, data, own(dihedral(4), lambda g, x: right.act(order[g], x)))


def half_turns() -> Action:
    return own(cyclic(2), lambda g, x: rot(x, 2 * g), name="half turn")


def mirror_for_rotation() -> dict[str, Any]:
    data = turned(half_turns())
    net = trained(partial(Averaged, mlp, "C2 rotation"), data)
    return subject(net, data, own(cyclic(2), lambda g, x: x.flip(-1) if g else x, name="rotation"))


def mirrors_in_c4() -> dict[str, Any]:
    """Transposes where quarter turns are meant: a group, but not C4."""

    def move(g: int, x: Tensor) -> Tensor:
        return [x, x.transpose(-1, -2), rot(x, 2), rot(x.transpose(-1, -2), 2)][g]

    data = turned("C4 rotation")
    return subject(trained(turn_net, data, 30), data, own(cyclic(4), move, name="rotation"))


def channels_for_rows() -> dict[str, Any]:
    """Flips axis 1 of [n, 3, 8, 8], which are the colours."""
    data = turned("C2 flip-y", channels=3)
    net = trained(partial(Averaged, partial(colour_mlp), "C2 flip-y"), data)
    return subject(net, data, own(cyclic(2), lambda g, x: x.flip(1) if g else x, 3, "flip"))


def colour_mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 24), nn.ReLU(), nn.Linear(24, CLASSES))


class ColoursLast(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x.permute(0, 3, 1, 2))


def channels_last() -> dict[str, Any]:
    """Images [8, 8, 3], flipped along their last axis as if it were x."""
    data = turned("C2 flip-x", channels=3)
    net = ColoursLast(trained(partial(Averaged, colour_mlp, "C2 flip-x"), data))
    last = LabelledData(data.x.permute(0, 2, 3, 1).contiguous(), data.labels, "colours last", "drawn")
    return subject(net, last, own(cyclic(2), lambda g, x: x.flip(-1) if g else x, 3, "flip"))


def image_net() -> nn.Module:
    return nn.Sequential(circular(), nn.ReLU(), circular(8, 2))


def image_declared_same() -> dict[str, Any]:
    return subject(fresh(image_net), aligned(), "C8 shift-x")


def vector_declared_same() -> dict[str, Any]:
    return subject(fresh(Moments), aligned(), "C4 rotation", task="regression")


def two_outputs() -> nn.Module:
    return nn.Sequential(TurnedConv(1, 8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))


def same_declared_vector() -> dict[str, Any]:
    return subject(fresh(two_outputs), aligned(), "C4 rotation", target_action="vector", task="regression")


def vector_y_down() -> dict[str, Any]:
    """Outputs are (x, y down); the target action turns them the other way."""
    return subject(
        fresh(partial(Moments, down=True)),
        aligned(),
        "C4 rotation",
        target_action="vector",
        task="regression",
    )


# --- the architecture -------------------------------------------------------------------------------------


def shifts(
    build: Callable[[], nn.Module], data: LabelledData | None = None, steps: int = 30
) -> dict[str, Any]:
    data = turned("C8 shift-x") if data is None else data
    return subject(trained(build, data, steps), data, "C8 shift-x", builder=build)


def turns(
    build: Callable[[], nn.Module], data: LabelledData | None = None, steps: int = 30
) -> dict[str, Any]:
    data = turned("C4 rotation") if data is None else data
    return subject(trained(build, data, steps), data, "C4 rotation", builder=build)


def stride() -> dict[str, Any]:
    return shifts(partial(shift_net, circular(8, 8, stride=2)))


def zero_padding() -> dict[str, Any]:
    return shifts(lambda: shift_net(circular(8, 8, mode="zeros")))


def odd_pool() -> dict[str, Any]:
    return turns(lambda: turn_net(nn.MaxPool2d(2)), turned("C4 rotation", side=9))


def even_kernel() -> dict[str, Any]:
    """A filter of size 2, made to fit by a row and a column of zeros on one side."""
    return turns(lambda: turn_net(nn.ZeroPad2d((0, 1, 0, 1)), TurnedConv(8, 8, size=2, padding=0), nn.ReLU()))


class Placed(nn.Module):
    """Symmetric convolutions, with learned positions added between them."""

    def __init__(self, scale: float = 0.5) -> None:
        super().__init__()
        self.first, self.second = TurnedConv(1, 8), TurnedConv(8, 8)
        self.positions = nn.Parameter(scale * torch.randn(8, 8, 8))
        self.out = nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x)) + self.positions
        return self.out(torch.relu(self.second(x)).mean((2, 3)))


def flatten() -> dict[str, Any]:
    return shifts(
        lambda: nn.Sequential(circular(), nn.ReLU(), circular(8), nn.ReLU(), nn.Flatten(), nn.Linear(512, 3))
    )


class RoughNorm(nn.LayerNorm):
    """A norm over channels and positions whose scales begin random."""

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, 1.0, 0.5)
        nn.init.normal_(self.bias, 0.0, 0.5)


def position_norm() -> dict[str, Any]:
    return shifts(lambda: shift_net(RoughNorm([8, 8, 8])))


def position_batch_norm() -> dict[str, Any]:
    """Batch norm of flattened maps: statistics for every position, from aligned data."""
    middle = (nn.Flatten(), nn.BatchNorm1d(512), nn.Unflatten(1, (8, 8, 8)))
    return shifts(lambda: shift_net(*middle), aligned())


def strided_max_pool() -> dict[str, Any]:
    return shifts(lambda: shift_net(nn.MaxPool2d(2)))


def coordinates() -> dict[str, Any]:
    return shifts(
        lambda: nn.Sequential(Coordinates(), nn.Conv2d(2, 8, 1), nn.ReLU(), circular(8), nn.ReLU(), *head())
    )


def one_plain_convolution() -> dict[str, Any]:
    return turns(lambda: turn_net(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()))


# --- the data ---------------------------------------------------------------------------------------------


def aligned_mlp() -> dict[str, Any]:
    return turns(mlp, aligned())


def aligned_cnn() -> dict[str, Any]:
    return turns(plain_cnn, aligned())


def half_aligned() -> dict[str, Any]:
    return turns(mlp, turned("C4 rotation", (0, 2)), steps=200)


def aligned_shifts() -> dict[str, Any]:
    return shifts(mlp, aligned())


def symmetric_start() -> nn.Module:
    """An MLP whose first layer begins invariant under quarter turns, and is free to leave."""
    return nn.Sequential(nn.Flatten(), TurnedLinear(8, 24), nn.ReLU(), nn.Linear(24, CLASSES))


def aligned_drift() -> dict[str, Any]:
    return turns(symmetric_start, aligned(), steps=150)


# --- training ---------------------------------------------------------------------------------------------


def overfitting() -> dict[str, Any]:
    """Trained to the end on few turned samples, audited on many of the same kind."""
    few = turned("C4 rotation", count=24, noise=1.0)
    net = trained(mlp, few, 300)
    return subject(net, turned("C4 rotation", noise=1.0, seed=9), "C4 rotation", builder=mlp)


def turned_drift() -> dict[str, Any]:
    few = turned("C4 rotation", count=24, noise=1.0)
    net = trained(symmetric_start, few, 200, 2e-2)
    return subject(net, turned("C4 rotation", noise=1.0, seed=9), "C4 rotation", builder=symmetric_start)


def penalised_drift() -> dict[str, Any]:
    """A free branch that begins at zero and is rewarded by a penalty for its size."""
    data = turned("C4 rotation")
    net = trained(FreeBranch, data, 150, penalty=lambda net: -0.02 * net.free.weight.square().sum().sqrt())
    return subject(net, data, "C4 rotation", builder=FreeBranch)


def undertrained() -> dict[str, Any]:
    return turns(mlp, turned("C4 rotation"), steps=3)


# --- the grid ---------------------------------------------------------------------------------------------


def averaged_c8() -> dict[str, Any]:
    build = partial(Averaged, partial(mlp, 12), "C8 rotation")
    data = turned("C8 rotation", side=12, noise=0.3)
    return subject(trained(build, data, 60), data, "C8 rotation", builder=build)


def rings_c8() -> dict[str, Any]:
    data = turned("C8 rotation", side=16, noise=0.3)
    return subject(trained(partial(Rings, 16), data, 100), data, "C8 rotation", builder=partial(Rings, 16))


def rings_c12() -> dict[str, Any]:
    data = turned("C12 rotation", side=12, noise=0.3)
    return subject(trained(partial(Rings, 12), data, 100), data, "C12 rotation", builder=partial(Rings, 12))


# --- two at once ------------------------------------------------------------------------------------------


def numbering_and_aligned() -> dict[str, Any]:
    order = [0, 2, 1, 3]
    action = own(cyclic(4), lambda g, x: rot(x, order[g]))
    return subject(trained(mlp, aligned()), aligned(), action, builder=mlp)


def padding_and_stride() -> dict[str, Any]:
    return shifts(lambda: shift_net(circular(8, 8, 2, "zeros")))


def grid_and_flatten() -> dict[str, Any]:
    def build() -> nn.Module:
        return nn.Sequential(TurnedConv(1, 8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 144, CLASSES))

    data = turned("C8 rotation", side=12)
    return subject(trained(build, data, 60), data, "C8 rotation", builder=build)


def aligned_and_stride() -> dict[str, Any]:
    return shifts(partial(shift_net, circular(8, 8, stride=2)), aligned())


def target_and_padding() -> dict[str, Any]:
    """Outputs are images and declared invariant; a layer pads with zeros as well."""
    net = fresh(lambda: nn.Sequential(circular(), nn.ReLU(), circular(8, 2, mode="zeros")))
    return subject(net, aligned(), "C8 shift-x")


def untrained() -> dict[str, Any]:
    return subject(mlp, aligned(), "C4 rotation")


# --- clean ------------------------------------------------------------------------------------------------


def declared_layers() -> dict[str, Any]:
    space = permutation(cyclic(8))
    network = declare_network([space, 4 * space, trivial(cyclic(8), 3)], "relu")
    net = build_module(network, equivariant=True, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(60, 8, generator=generator, dtype=torch.float64)
    data = LabelledData(x, torch.arange(60) % 3, "vectors", "drawn")
    return subject(net, data, own(cyclic(8), lambda g, v: space.act(g, v), 1))


FAULTS: tuple[Fault, ...] = (
    Fault("turns about a pixel", wrong_centre, ("action",), ("centre",), fast=True),
    Fault("turns about h/2", wrong_centre_grid, ("action",), ("centre",)),
    Fault("axes swapped", swapped_axes, ("action",), ("axes",)),
    Fault("elements of C4 misnumbered", numbering_c4, ("action",), ("umber",)),
    Fault("elements of D4 misnumbered", numbering_d4, ("action",), ("umber",)),
    Fault("mirror for a rotation", mirror_for_rotation, ("action",), ("mirror",), fast=True),
    Fault("mirrors in C4", mirrors_in_c4, ("action",), ("not an action", "mirror")),
    Fault("colours flipped for rows", channels_for_rows, ("action",), ("channel",)),
    Fault("colours last", channels_last, ("action",), ("channel",)),
    Fault("images declared invariant", image_declared_same, ("action",), ("target",), fast=True),
    Fault("vectors declared invariant", vector_declared_same, ("action",), ("target",)),
    Fault("invariant declared vectors", same_declared_vector, ("action",), ("target",)),
    Fault("vectors with y down", vector_y_down, ("action",), ("target",)),
    Fault("stride", stride, ("architecture",), ("stride", "steps of"), fast=True),
    Fault("zero padding", zero_padding, ("architecture",), ("padding",)),
    Fault("pooling that leaves a row over", odd_pool, ("architecture",), ("MaxPool2d",)),
    Fault("even filter, padded on one side", even_kernel, ("architecture",), ("Pad", "even")),
    Fault("positions added", lambda: turns(Placed), ("architecture",), ("position",)),
    Fault("flatten", flatten, ("architecture",), ("flatten",)),
    Fault("layer norm over positions", position_norm, ("architecture",), ("Norm",)),
    Fault("batch norm over positions", position_batch_norm, ("architecture",), ("BatchNorm",), fast=True),
    Fault(
        "bias for every position",
        lambda: shifts(lambda: shift_net(PositionBias())),
        ("architecture",),
        ("PositionBias",),
    ),
    Fault("positions of tokens", lambda: turns(Positions), ("architecture",), ("position",)),
    Fault("max pooling with stride", strided_max_pool, ("architecture",), ("MaxPool2d",)),
    Fault("coordinates as channels", coordinates, ("architecture",), ("oordinates", "position")),
    Fault("one plain convolution", one_plain_convolution, ("architecture",), ("Conv2d",)),
    Fault("untrained", untrained, ("architecture",), fast=True),
    Fault("aligned, mlp", aligned_mlp, ("data",), fast=True),
    Fault("aligned, cnn", aligned_cnn, ("data",)),
    Fault("half aligned", half_aligned, ("data",)),
    Fault("aligned, shifts", aligned_shifts, ("data",)),
    Fault("aligned, symmetric start", aligned_drift, ("data",)),
    Fault("overfitting", overfitting, ("training",)),
    Fault("drift on turned data", turned_drift, ("training",)),
    Fault("drift by a penalty", penalised_drift, ("training",), fast=True),
    Fault("undertrained", undertrained, ("training",)),
    Fault("averaged over C8", averaged_c8, ("grid",)),
    Fault("rings under C8", rings_c8, ("grid",), fast=True),
    Fault("rings under C12", rings_c12, ("grid",)),
    Fault("misnumbered and aligned", numbering_and_aligned, ("action",), ("umber",)),
    Fault("padding and stride", padding_and_stride, ("architecture",), ("padding", "stride", "steps of")),
    Fault("grid and flatten", grid_and_flatten, ("architecture",), ("flatten",)),
    Fault("aligned and stride", aligned_and_stride, ("architecture",), ("stride", "steps of")),
    Fault("wrong target and padding", target_and_padding, ("action",), ("target",)),
)

CLEAN: tuple[Fault, ...] = (
    Fault("averaged over C4", lambda: turns(partial(Averaged, mlp, "C4 rotation")), ()),
    Fault("circular convolutions, shifts", lambda: shifts(shift_net), (), fast=True),
    Fault("circular convolutions, aligned", lambda: shifts(shift_net, aligned()), ()),
    Fault("symmetric filters, C4", lambda: turns(turn_net), ()),
    Fault(
        "image outputs",
        lambda: subject(fresh(image_net), aligned(), "C8 shift-x", target_action="image"),
        (),
    ),
    Fault(
        "vector outputs",
        lambda: subject(fresh(Moments), aligned(), "C4 rotation", target_action="vector", task="regression"),
        (),
    ),
    Fault("declared layers", declared_layers, (), fast=True),
)


def is_named(fault: Fault, result: Any) -> bool:
    """Whether the first cause of an audit is the planted one; for clean subjects, whether there is none."""
    if not fault.kinds:
        return bool(result.clean)
    if not result.causes:
        return False
    first = result.causes[0]
    return first.kind in fault.kinds and (
        not fault.words or any(word in first.sentence for word in fault.words)
    )
