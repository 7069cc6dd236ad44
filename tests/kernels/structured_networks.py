"""Modules with layers of every kind whose gradients are products, and with every reason why one is not."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm


class Written(nn.Module):
    """A module with the given parts, whose forward is the given function of itself and the input."""

    def __init__(self, forward: Callable[[nn.Module, Tensor], Tensor], **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.written = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.written(self, x)


def image_net(*layers: nn.Module) -> nn.Sequential:
    return nn.Sequential(*layers, nn.Tanh(), nn.Flatten(), nn.LazyLinear(3))


def rare(m, x: Tensor) -> Tensor:
    """Uses one layer again, for inputs of which the first two are not."""
    out = m.a(x)
    far = x.abs().sum(1) > 6
    if far.any():
        out = torch.where(far[:, None], m.a(x.cos()), out)
    return m.last(out)


def scaled_by_a_hook() -> nn.Module:
    layer = nn.Linear(4, 5)
    layer.register_forward_hook(lambda m, args, out: 2 * out)
    return nn.Sequential(layer, nn.Linear(5, 2))


def with_own_forward() -> nn.Module:
    layer = nn.Linear(4, 5)
    layer.forward = torch.cos  # type: ignore[method-assign]
    return nn.Sequential(layer, nn.Linear(4, 2))


def frozen(what: str) -> nn.Module:
    net = image_net(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3))
    for part in net[:2]:
        getattr(part, what).requires_grad_(False)
    return net


def aliased() -> nn.Module:
    layer = nn.Linear(4, 5)
    return Written(lambda m, x: m.b(m.a(x)), a=layer, b=nn.Linear(5, 2), again=layer)


def tied() -> nn.Module:
    net = Written(
        lambda m, x: m.head(m.body(m.words(x)).mean(1)),
        words=nn.Embedding(6, 4),
        body=nn.Linear(4, 4),
        head=nn.Linear(4, 6, bias=False),
    )
    net.head.weight = net.words.weight
    return net


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], set[str]]] = {
    "dense": (
        lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 3, bias=False)),
        (4,),
        {"0", "2"},
    ),
    "time": (
        lambda: Written(
            lambda m, x: m.b(m.a(x).relu_().mean(1)).flatten(1)[:, :3], a=nn.Linear(4, 5), b=nn.Linear(5, 4)
        ),
        (3, 4),
        {"a", "b"},
    ),
    "time and space": (
        lambda: nn.Sequential(nn.Linear(3, 6), nn.GELU(), nn.Flatten(), nn.Linear(36, 2)),
        (3, 2, 3),
        {"0", "3"},
    ),
    "strided": (
        lambda: image_net(nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 2))),
        (2, 5, 4),
        {"0", "3"},
    ),
    "circular": (
        lambda: image_net(nn.Conv2d(2, 3, 3, dilation=2, padding=(2, 1), padding_mode="circular")),
        (2, 5, 5),
        {"0", "3"},
    ),
    "reflected": (
        lambda: image_net(nn.Conv2d(4, 6, 3, groups=2, padding=(1, 2), padding_mode="reflect")),
        (4, 3, 4),
        {"0", "3"},
    ),
    "replicated": (
        lambda: image_net(
            nn.Conv2d(2, 3, 2, stride=2, padding=1, padding_mode="replicate", bias=False),
            nn.Conv2d(3, 2, 1),
        ),
        (2, 3, 4),
        {"0", "1", "4"},
    ),
    "same": (
        lambda: image_net(nn.Conv2d(2, 3, (2, 4), dilation=(3, 1), padding="same")),
        (2, 4, 5),
        {"0", "3"},
    ),
    "depthwise": (
        lambda: image_net(nn.Conv2d(3, 6, 2, groups=3, padding="valid"), nn.Conv2d(6, 4, (2, 3), groups=2)),
        (3, 3, 4),  # the second leaves one position
        {"0", "1", "4"},
    ),
    "sound": (
        lambda: image_net(
            nn.Conv1d(2, 4, 3, stride=2, padding=2, dilation=2),
            nn.ReLU(inplace=True),
            nn.Conv1d(4, 4, 2, groups=2, padding=1, padding_mode="circular"),
        ),
        (2, 9),
        {"0", "2", "5"},
    ),
    "normalised": (
        lambda: nn.Sequential(
            nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh(), nn.RMSNorm((3, 6)), nn.Flatten(), nn.Linear(18, 2)
        ),
        (3, 4),
        {"0", "1", "3", "5"},
    ),
    "batches": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 2),
            nn.BatchNorm2d(4),
            nn.Tanh(),
            nn.GroupNorm(2, 4),
            nn.Flatten(2),
            nn.BatchNorm1d(4),
            nn.Flatten(),
            nn.BatchNorm1d(16),
            nn.Linear(16, 2),
        ),
        (1, 3, 3),
        {"0", "1", "3", "5", "7", "8"},
    ),
    "only biases": (lambda: frozen("weight"), (2, 3, 3), {"0", "1", "4"}),
    "no biases": (lambda: frozen("bias"), (2, 3, 3), {"0", "1", "4"}),
    "alias": (aliased, (4,), {"a", "b"}),
    "words": (
        lambda: nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(9, 2)),
        (-3,),  # three whole numbers
        {"1", "4"},
    ),
    "tied words": (tied, (-3,), {"body"}),
    "attention": (
        lambda: nn.Sequential(
            nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), nn.Flatten(), nn.Linear(8, 2)
        ),
        (2, 4),
        {"0.linear1", "0.linear2", "0.norm1", "0.norm2", "2"},
    ),
    "twice": (
        lambda: Written(lambda m, x: m.b(m.a(m.a(x).tanh())), a=nn.Linear(4, 4), b=nn.Linear(4, 2)),
        (4,),
        {"b"},
    ),
    "weight used beside": (
        lambda: Written(
            lambda m, x: m.b(m.a(x).tanh() + functional.linear(x.cos(), m.a.weight)),
            a=nn.Linear(4, 5),
            b=nn.Linear(5, 2),
        ),
        (4,),
        {"b"},
    ),
    "output unused": (
        lambda: Written(
            lambda m, x: (m.a(x), m.b(functional.linear(x.cos(), m.a.weight)))[1],
            a=nn.Linear(4, 5),
            b=nn.Linear(5, 2),
        ),
        (4,),
        {"b"},
    ),
    "time first": (
        lambda: Written(
            lambda m, x: m.b(m.a(x.transpose(0, 1)).tanh().mean(0)), a=nn.Linear(4, 5), b=nn.Linear(5, 2)
        ),
        (2, 4),  # two times, two inputs: shapes alone do not tell them apart
        {"b"},
    ),
    "folded": (
        lambda: Written(
            lambda m, x: m.b(m.a(x.reshape(-1, 4)).tanh().reshape(len(x), -1)),
            a=nn.Linear(4, 5),
            b=nn.Linear(10, 2),
        ),
        (2, 4),
        {"b"},
    ),
    "constant": (
        lambda: Written(
            lambda m, x: m.b(x + m.a(torch.ones_like(x))[0]), a=nn.Linear(4, 4), b=nn.Linear(4, 2)
        ),
        (4,),
        {"b"},
    ),
    "hooked": (scaled_by_a_hook, (4,), {"1"}),
    "own forward": (with_own_forward, (4,), {"1"}),
    "weight norm": (
        lambda: nn.Sequential(weight_norm(nn.Linear(4, 5)), nn.Tanh(), nn.Linear(5, 2)),
        (4,),
        {"2"},
    ),
    "rare": (lambda: Written(rare, a=nn.Linear(4, 5), last=nn.Linear(5, 2)), (4,), {"a", "last"}),
}


def structured_network(name: str, seed: int = 0) -> tuple[nn.Module, Callable[..., Tensor], set[str]]:
    """A module in float64, a source of inputs (count, seed), and the names of its structured layers."""
    make, shape, layers = NETWORKS[name]

    def inputs(n: int, seed: int = 0) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        if shape[0] < 0:
            return torch.randint(6, (n, -shape[0]), generator=generator)
        x = torch.randn(n, *shape, dtype=torch.float64, generator=generator)
        if name == "rare":
            x[:2] *= 0.1
            x[2:] = torch.tensor([2.0, 1.0, 3.0, 1.5]) * x[2:].sign()
        return x

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = make()
        if any(isinstance(part, nn.LazyLinear) for part in net.modules()):
            net(torch.zeros(2, *shape))
        for part in net.modules():  # weights and statistics that are not those of a fresh normalisation
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.normal_()
                part.running_var.uniform_(0.5, 2.0)
            if isinstance(part, (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.RMSNorm, nn.GroupNorm)):
                nn.init.uniform_(part.weight, 0.5, 2.0)
    return net.double(), inputs, layers
