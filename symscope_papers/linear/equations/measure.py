"""Both sides of every equation, each computed as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from symscope.linear import weight_split
from symscope.numerics import ode_flow
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.equations.config import GROUPS, Equations, group_matrices


def cells(config: Equations) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"group": name, "problem": n} for name in GROUPS for n in range(config.problems)]


def measure_cell(config: Equations, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell; small matrices, on the CPU."""
    generator = torch.Generator().manual_seed(context.seed)
    g = group_matrices(cell["group"])
    size = g.shape[1]
    x, labels, start = (
        torch.randn(rows, size, generator=generator, dtype=torch.float64)
        for rows in (config.orbits, config.orbits, size)
    )
    row = _invariant(config, g, x, labels[:, 0], start[:, 0]) | _equivariant(config, g, x, labels, start)
    row |= _algebra(g, x) | _components(generator) | {"polynomial": polynomial_gap(generator)}
    return {"equations": [row], "ranks": _ranks(g, generator)}


def _invariant(config: Equations, g: Tensor, x: Tensor, y: Tensor, w0: Tensor) -> dict[str, float]:
    """Cor. 3.2, Eq. 1, 3 and 6: the data set row by row against the sums over the group."""
    rows = torch.stack([row @ element for row in x for element in g])
    targets = torch.stack([label for label in y for _ in g])
    k, total = _kernel(g, x), g.sum(0)
    times = _times(config, k)
    truth = _flow(rows, targets, w0, times)
    literal = sum((y - x @ element @ w0).square().sum() for element in g) / 2
    slope = sum(element @ x.mT @ (y - x @ element.mT @ w0) for element in g)
    ours = _closed(k, total.mT @ x.mT @ y, w0, times)
    return {
        "loss": _gap(literal, (targets - rows @ w0).square().sum() / 2),
        "flow": _gap(_closed(rows.mT @ rows, rows.mT @ targets, w0, times), truth),
        "invariant_flow": _gap(ours, truth),
        "gradient": _gap(torch.as_tensor(slope), rows.mT @ (targets - rows @ w0)),
        "scaled": _gap(_closed(3 * k, 3 * total.mT @ x.mT @ y, w0, times / 3), ours),
    }


def _equivariant(config: Equations, g: Tensor, x: Tensor, y: Tensor, w0: Tensor) -> dict[str, float]:
    """Cor. 4.1 and Eq. 5."""
    rows = torch.stack([row @ element for row in x for element in g])
    targets = torch.stack([row @ element for row in y for element in g])
    k = _kernel(g, x)
    c = torch.einsum("gji,jk,gkl->il", g, x.mT @ y, g)
    times = _times(config, k)
    literal = sum((y @ element - x @ element @ w0).square().sum() for element in g) / 2
    return {
        "equivariant_loss": _gap(literal, (targets - rows @ w0).square().sum() / 2),
        "equivariant_flow": _gap(_closed(k, c, w0, times), _flow(rows, targets, w0, times)),
        "commutator": max(_gap(c @ e, e @ c) for e in g),
        "kernel_commutator": max(_gap(k @ e, e @ k) for e in g),
    }


def _algebra(g: Tensor, x: Tensor) -> dict[str, float]:
    total, k = g.sum(0), _kernel(g, x)
    values = torch.linalg.eigvalsh(k)
    return {
        "reynolds": max(float(torch.stack([total @ e - total, e @ total - total]).abs().max()) for e in g),
        "transposes": max(float((g - e.mT).abs().amax((1, 2)).min()) for e in g),
        "least_eigenvalue": float(values[0] / values[-1]),
    }


def _components(generator: torch.Generator) -> dict[str, float]:
    """App. E: the components of 2 x 2 weights under the swap of both coordinates."""
    eye = torch.eye(2, dtype=torch.float64)
    swap = torch.stack([eye, eye.flip(0)])
    w = torch.randn(2, 2, generator=generator, dtype=torch.float64)
    (w11, w12), (w21, w22) = w.tolist()
    same, cross = (w11 + w22) / 2, (w12 + w21) / 2
    named = torch.tensor([[same, cross], [cross, same]], dtype=torch.float64)
    return {"components": _gap(weight_split(w, swap, swap).symmetric, named)}


def polynomial_gap(generator: torch.Generator) -> float:
    """Example F.1: `phi(g x) - phi(x) g~` with g~ = (1 2)(3 5), for phi = (x, y, x², xy, y²)."""

    def phi(points: Tensor) -> Tensor:
        a, b = points.unbind(1)
        return torch.stack([a, b, a * a, a * b, b * b], 1)

    points = torch.randn(20, 2, generator=generator, dtype=torch.float64)
    return _gap(phi(points.flip(1)), phi(points)[:, [1, 0, 4, 3, 2]])


def _ranks(g: Tensor, generator: torch.Generator) -> list[dict[str, Any]]:
    """Ranks of X^T X and K_G for 1 to d samples, one of each orbit."""
    size = g.shape[1]
    result = []
    for samples in range(1, size + 1):
        x = torch.randn(samples, size, generator=generator, dtype=torch.float64)
        rows = torch.einsum("nd,gde->gne", x, g).flatten(0, 1)
        result.append(
            {
                "samples": samples,
                "features": size,
                "rows": len(rows),
                "rank": int(torch.linalg.matrix_rank(x.mT @ x, hermitian=True)),
                "data_rank": int(torch.linalg.matrix_rank(rows)),
                "group_rank": int(torch.linalg.matrix_rank(_kernel(g, x), hermitian=True)),
            }
        )
    return result


def _kernel(g: Tensor, x: Tensor) -> Tensor:
    return torch.einsum("gji,jk,gkl->il", g, x.mT @ x, g)


def _closed(k: Tensor, c: Tensor, w0: Tensor, times: Tensor) -> Tensor:
    """`e^{-Kt} w_0 + (I - e^{-Kt}) K^+ c`, with matrix exponentials and a pseudo-inverse."""
    decay = torch.linalg.matrix_exp(-k * times[:, None, None])
    end = torch.linalg.pinv(k, hermitian=True) @ c
    return end + decay @ (w0 - end)


def _flow(rows: Tensor, targets: Tensor, w0: Tensor, times: Tensor) -> Tensor:
    """Gradient flow on the whole data set, integrated."""
    path = ode_flow(
        lambda w: (rows.mT @ (targets - rows @ w.reshape(w0.shape))).flatten(),
        w0.flatten(),
        times.tolist(),
        rtol=1e-12,
        atol=1e-13,
    )
    return path.states.reshape(len(times), *w0.shape)


def _times(config: Equations, k: Tensor) -> Tensor:
    values = torch.linalg.eigvalsh(k)
    # the slowest rate of a random problem may be tiny, and integration then takes long
    slow = max(float(values[0]), float(values[-1]) / 30)
    return torch.linspace(0, config.time / slow, 9, dtype=torch.float64)


def _gap(a: Tensor, b: Tensor) -> float:
    """The largest difference, relative to the largest entry."""
    return float((torch.as_tensor(a) - b).abs().max() / torch.as_tensor(b).abs().max())
