"""Small modules that between them use all a finite-width kernel must cope with, and their dense Jacobian."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Branching(nn.Module):
    """Control flow that depends on the data of each input: nothing `torch.func.vmap` can follow."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.last = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        rows = [self.hidden(row) for row in x]
        return self.last(torch.stack([row.relu() if row.sum().item() > 0 else row.tanh() for row in rows]))


class Cube(torch.autograd.Function):
    """An autograd function of the old kind, without a forward derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.last = nn.Linear(4, 3), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(Cube.apply(self.hidden(x)))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layer(x).mean(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layer(x)[0][:, -1])


class Tied(nn.Module):
    """One weight used twice, a frozen one, a buffer that counts evaluations, an unused parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.square, self.frozen, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.frozen.requires_grad_(False)
        self.unused = nn.Parameter(torch.ones(2))
        self.register_buffer("evaluations", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.evaluations += 1
        return self.last(self.square(self.frozen(self.square(x)).tanh()).relu())


def module(name: str, seed: int = 0) -> tuple[nn.Module, tuple[int, ...]]:
    """A module by name, with the shape of its inputs."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
            "mlp": (
                nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Dropout(0.5), nn.Linear(7, 3)),
                (4,),
            ),
            "conv": (
                nn.Sequential(
                    nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"),
                    nn.BatchNorm2d(4),
                    nn.ReLU(),
                    nn.MaxPool2d(2),
                    nn.Flatten(),
                    nn.Linear(16, 3),
                ),
                (2, 4, 4),
            ),
            "attention": (Attention(), (3, 4)),
            "recurrent": (Recurrent(), (5, 3)),
            "branching": (Branching(), (4,)),
            "custom": (Custom(), (4,)),
            "tied": (Tied(), (4,)),
        }
        net, shape = made[name]
        for part in net.modules():  # statistics that are not those of a fresh batch norm
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_()
                part.running_var.uniform_(0.5, 2.0)
    return net.double(), shape


MODULES = ("mlp", "conv", "attention", "recurrent", "branching", "custom", "tied")


def inputs(n: int, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, *shape, dtype=torch.float64, generator=generator)


def dense_jacobian(net: nn.Module, x: Tensor) -> Tensor:
    """J [n, o, p] by one backward pass per input and output of the module itself, in eval mode."""
    training = net.training
    net.eval()
    weights = [p for p in net.parameters() if p.requires_grad]
    rows = []
    for one in x:
        out = net(one[None])[0]
        for value in out:
            result = torch.autograd.grad(
                value, weights, retain_graph=True, allow_unused=True, materialize_grads=True
            )
            rows.append(torch.cat([g.flatten() for g in result]))
    net.train(training)
    return torch.stack(rows).reshape(len(x), -1, rows[0].numel())
