"""Symmetries of parts carried to whole networks, tested on held-out samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from symscope.discovery import ParameterProblem, Verification, gaussian_data, parameter_problem, verify
from symscope.discovery.exact import linear_symmetries
from symscope.discovery.fields import FunctionField, LinearField, ParameterField, linear_combination
from symscope.runs import CellContext, CellResults
from symscope_papers.discovery.induced.combinators import (
    deepened_symmetry,
    induced_symmetry,
    part_problem,
    smaller_batch_symmetry,
    widened_symmetry,
)
from symscope_papers.discovery.induced.config import RULES, Induced
from symscope_papers.discovery.induced.level_field import level_field


class Skip(nn.Module):
    """`out(a + block(a))` with `a = tanh(inner(x))`: the block is the part whose symmetry is carried."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(2, 3), nn.Linear(3, 1)
        self.block = nn.Sequential(nn.Linear(3, 2, bias=False), nn.ReLU(), nn.Linear(2, 3, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        a = torch.tanh(self.inner(x))
        result: Tensor = self.out(a + self.block(a))
        return result


def _two_layers(h: int, activation: nn.Module) -> ParameterProblem:
    net = nn.Sequential(nn.Linear(2, h, bias=False), activation, nn.Linear(h, 2, bias=False))
    return parameter_problem(net, "squared", gaussian_data((2,), (2,)))


def _element(fields: Sequence[LinearField], seed: int, name: str) -> LinearField:
    weights = torch.randn(len(fields), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return linear_combination(tuple(fields), weights, name)


def _direction(size: int, seed: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def cells(config: Induced) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"rule": rule, "number": seed} for rule in RULES for seed in config.seeds]


def measure_cell(config: Induced, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    seed = context.seed % 10**6
    make = {
        "Prop. 4.1": _inside,
        "Cor. 4.2": _wider,
        "Cor. 4.3": _deeper,
        "Prop. 4.4": _smaller,
    }[cell["rule"]]
    return make(config, seed)


def _row(case: str, kind: str, small: Verification, large: Verification, seen: bool = True) -> dict[str, Any]:
    return {
        "case": case,
        "kind": kind,
        "should_hold": seen,
        "holds_in_part": small.holds,
        "holds": large.holds,
        "part_drift": small.loss_drift,
        "drift": large.loss_drift,
        "random_drift": large.random_loss_drift,
        "failing_share": large.failing_share,
        "group_law": large.group_law,
        "data_dependence": large.data_dependence,
    }


def _inside(config: Induced, seed: int) -> CellResults:
    """Prop. 4.1, with `h` the inputs of the block; without it a data-dependent field must fail."""
    whole = parameter_problem(Skip(), "squared", gaussian_data((2,), (1,)))
    part = parameter_problem(Skip().block, "squared", gaussian_data((3,), (3,)))
    names = [name for name in whole.layout.names if name.startswith("block")]
    positions = whole.layout.only(names)
    rows = []
    result = linear_symmetries(part, seed=seed, affine=False).fields
    field = _element(result, seed, "rescalings of the block")
    tested = verify(part, field, seed=seed, points=config.points)
    carried = verify(whole, induced_symmetry(field, positions), seed=seed, points=config.points)
    rows.append(_row("ReLU block beside a skip connection", "data-independent", tested, carried))
    middle = parameter_problem(nn.Linear(3, 2, bias=False), "squared", gaussian_data((3,), (2,)))
    across = _across(seed)
    where = whole.layout.indices("block.0.weight").reshape(-1)

    def features(theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        weights = whole.layout.named(theta)
        return torch.tanh(x @ weights["inner.weight"].T + weights["inner.bias"]), y

    one: dict[str, Any] = {"seed": seed, "points": config.points, "batch_sizes": (1,)}
    tested = verify(middle, across, **one)
    rows.append(
        _row(
            "block's first layer, seeing h(x)",
            "data-dependent",
            tested,
            verify(whole, induced_symmetry(across, where, features), **one),
        )
    )
    blind = induced_symmetry(across, where, lambda theta, x, y: (torch.cat([x, x[:, :1]], 1), y))
    rows.append(
        _row(
            "the same, seeing x instead of h(x)",
            "data-dependent",
            tested,
            verify(whole, blind, **one),
            seen=False,
        )
    )
    return {"cases": rows, "generators": []}


def _across(seed: int) -> ParameterField:
    """A layer W moves by vectors at right angles to its one input, `V = u (v - x (v.x) / |x|^2)^T`."""
    u, v = _direction(2, seed), _direction(3, seed + 1)

    def moves(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        right = v - x[0] * (v @ x[0]) / (x[0] @ x[0])
        return torch.outer(u, right).reshape(-1)

    return FunctionField(moves, "across the input")


def _wider(config: Induced, seed: int) -> CellResults:
    rows, pictures = [], []
    for h in config.wide:
        units = torch.randperm(h, generator=torch.Generator().manual_seed(seed))[: config.narrow].tolist()
        for name, activation in (("linear", nn.Identity()), ("ReLU", nn.ReLU())):
            narrow, wide = _two_layers(config.narrow, activation), _two_layers(h, activation)
            result = linear_symmetries(narrow, seed=seed, affine=False).fields
            field = _element(result, seed, f"element of the narrow {name} network")
            tested = verify(narrow, field, seed=seed, points=config.points)
            carried = widened_symmetry(field, narrow, wide, units)
            checked = verify(wide, carried, seed=seed, points=config.points)
            rows.append(_row(f"{name}, {config.narrow} to {h} units", "data-independent", tested, checked))
            if h == config.wide[0] and name == "linear":
                pictures = [
                    *_entries("narrow", result[1], narrow),
                    *_entries("wide", widened_symmetry(result[1], narrow, wide, units), wide),
                ]
        small, large = _two_layers(config.narrow, nn.Tanh()), _two_layers(h, nn.Tanh())
        level = level_field(small, _direction(small.size, seed))
        near: dict[str, Any] = {
            "seed": seed,
            "points": config.points,
            "batch_sizes": (1,),
            "lengths": (0.02,),
        }
        rows.append(
            _row(
                f"tanh, {config.narrow} to {h} units",
                "data-dependent",
                verify(small, level, **near),
                verify(large, widened_symmetry(level, small, large, units), **near),
            )
        )
    return {"cases": rows, "generators": pictures, "sums": _sums(config, seed)}


def _sums(config: Induced, seed: int) -> list[dict[str, Any]]:
    """Eq. 14 and 15 on random matrices: both sides of the proof of Cor. 4.2."""
    randomness = torch.Generator().manual_seed(seed)
    h, narrow = config.wide[-1], config.narrow
    U, V, X = (
        torch.randn(*size, generator=randomness, dtype=torch.float64) for size in ((2, h), (h, 3), (3, 5))
    )
    rows = []
    for name, function in (("tanh", torch.tanh), ("ReLU", torch.relu)):
        outputs = U @ function(V @ X)
        written = torch.einsum("ij,jlk->ik", U, function(V[:, :, None] * X[None]))
        parts = U[:, :narrow] @ function(V[:narrow] @ X) + U[:, narrow:] @ function(V[narrow:] @ X)
        size = outputs.norm()
        rows.append(
            {
                "activation": name,
                "defect": (written - outputs).norm() / size,
                "split": (parts - outputs).norm() / size,
            }
        )
    return rows


def _deeper(config: Induced, seed: int) -> CellResults:
    rows = []
    for depth in config.depths:
        for inner in ("linear", "ReLU"):
            layers: list[nn.Module] = []
            for k in range(depth - 1):
                last = nn.Identity() if inner == "linear" else nn.ReLU()
                layers += [nn.Linear(2, 2), last if k == depth - 2 else nn.Tanh()]
            whole = parameter_problem(
                nn.Sequential(*layers, nn.Linear(2, 1)), "squared", gaussian_data((2,), (1,))
            )
            start, stop = 2 * (depth - 2), 2 * (depth - 1) + 1
            part = part_problem(whole, start, stop, gaussian_data((2,), (1,)))
            field = _element(
                linear_symmetries(part, seed=seed).fields, seed, f"element of the {inner} layers"
            )
            tested = verify(part, field, seed=seed, points=config.points)
            checked = verify(
                whole, deepened_symmetry(field, whole, start, stop), seed=seed, points=config.points
            )
            rows.append(_row(f"{inner} layers at the end of {depth}", "data-independent", tested, checked))
    return {"cases": rows, "generators": []}


def _smaller(config: Induced, seed: int) -> CellResults:
    made = _two_layers(3, nn.Tanh())
    level = level_field(made, _direction(made.size, seed))
    near: dict[str, Any] = {"seed": seed, "points": config.points, "lengths": (0.02,)}
    tested = verify(made, level, batch_sizes=(config.batch,), **near)
    extra = made.random_points(1, config.batch, seed + 5)
    small = smaller_batch_symmetry(level, config.batch, extra.x[0], extra.y[0])
    rows = []
    for size in range(1, config.batch):
        checked = verify(made, small, batch_sizes=(size,), **near)
        rows.append(_row(f"batch of {config.batch}, used with {size}", "data-dependent", tested, checked))
    return {"cases": rows, "generators": []}


def _entries(which: str, field: ParameterField, made: ParameterProblem) -> list[dict[str, Any]]:
    assert isinstance(field, LinearField)  # linear fields stay linear when they are carried
    table = field.dense(made.size)
    return [
        {
            "which": which,
            "name": field.name,
            "row": i,
            "column": j,
            "value": float(table[i, j]),
            "names": " ".join(made.layout.entries()),
        }
        for i, j in torch.nonzero(table).tolist()
    ]
