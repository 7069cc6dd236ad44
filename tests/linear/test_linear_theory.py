"""From data of every kind to the closed form: against matrices built by hand, and gradient descent."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope.data import custom_action, rotation
from symscope.data.images import shift
from symscope.data.vectors import linear_action
from symscope.errors import InputError
from symscope.groups import cyclic, from_matrices, symmetric
from symscope.linear import linear_theory
from symscope.linear.weight_parts import coupling

EXACT = 1e-10


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def turn(k: int, n: int = 4) -> torch.Tensor:
    c, s = math.cos(2 * math.pi * k / n), math.sin(2 * math.pi * k / n)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


def permuted(p: torch.Tensor, graph: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(graph)
    out[:, p[:, None], p] = graph
    return out


def cases():
    """Data, words for both actions, and what each element does to samples and to targets, written by hand."""
    s3 = symmetric(3).permutations
    images, vectors, maps = normal(7, 3, 3), normal(7, 2, seed=1), normal(7, 3, 3, seed=2)
    clouds, forces, waves = normal(6, 4, 2), normal(6, 4, 2, seed=3), normal(6, 1, 6)
    graphs = normal(5, 3, 3)
    still = [lambda y: y] * 12
    turns = [lambda x, k=k: torch.rot90(x, k, (1, 2)) for k in range(4)]
    rows = [lambda x, k=k: x @ turn(k).T for k in range(4)]
    return {
        "images, one number": (images, normal(7), "C4", "same", turns, still),
        "images, several numbers": (images, normal(7, 4), "C4", None, turns, still),
        "images, vectors": (images, vectors, "C4 rotation", "vector", turns, rows),
        "images, maps": (images, maps, "C4 rotation", "image", turns, turns),
        "images in two channels, maps": (
            normal(6, 2, 3, 3),
            normal(6, 3, 3),
            "C4",
            "image",
            [lambda x, k=k: torch.rot90(x, k, (2, 3)) for k in range(4)],
            turns,
        ),
        "series, one number": (
            waves,
            normal(6),
            "C6 shift-x",
            None,
            [lambda x, k=k: x.roll(k, 2) for k in range(6)],
            still,
        ),
        "series, series": (
            waves,
            normal(6, 1, 6, seed=5),
            "C3 shift-x",
            "image",
            [lambda x, k=k: x.roll(2 * k, 2) for k in range(3)],
            [lambda y, k=k: y.roll(2 * k, 2) for k in range(3)],
        ),
        "points, a vector": (clouds, normal(6, 2, seed=4), "C4 points", "vector", rows, rows),
        "points, a vector for each": (clouds, forces, "C4 points", "vector", rows, rows),
        "sets, one number": (clouds, normal(6), "S4 nodes", None, *_set_moves(), still * 2),
        "graphs, one number": (
            graphs,
            normal(5),
            "S3 nodes",
            None,
            [lambda x, p=p: permuted(p, x) for p in s3],
            still,
        ),
        "graphs, graphs": (
            graphs,
            normal(5, 3, 3, seed=6),
            "S3 nodes",
            "image",
            [lambda x, p=p: permuted(p, x) for p in s3],
            [lambda x, p=p: permuted(p, x) for p in s3],
        ),
    }


def _set_moves():
    def moved(p, x):
        out = torch.empty_like(x)
        out[:, p] = x
        return out

    return ([lambda x, p=p: moved(p, x) for p in symmetric(4).permutations],)


@pytest.mark.parametrize("name", cases())
def test_every_kind_is_the_dense_problem_and_its_descent(name):
    x, y, words, target, on_samples, on_targets = cases()[name]
    theory = linear_theory((x, y), words, target_action=target)
    count = theory.action.group.order
    on_targets = on_targets[:1] * count if len(on_targets) < count else on_targets[:count]
    points = torch.cat([move(x) for move in on_samples])
    targets = torch.cat([move(y) for move in on_targets])
    flat_x, flat_y = points.flatten(1), targets.reshape(len(targets), -1)
    assert torch.allclose(theory.problem.k, flat_x.T @ flat_x, atol=EXACT)
    assert torch.allclose(theory.problem.c, flat_x.T @ flat_y, atol=EXACT)
    dense = torch.linalg.eigvalsh(flat_x.T @ flat_x)
    assert torch.allclose(theory.flow.rates, dense.clamp(min=0), atol=1e-9)
    model = theory.model(seed=3)
    start = model[1].weight.detach().T.clone()
    tracker = theory.tracker(model)
    learning_rate = 0.5 * theory.flow.stable_rate * len(points) * flat_y.shape[1] / 2
    optimiser = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _ in range(8):
        optimiser.zero_grad()
        assert model(points).shape == targets.shape
        nn.functional.mse_loss(model(points), targets).backward()
        optimiser.step()
        tracker.record()
    theory_records = tracker.predict_linear(theory.flow, learning_rate=theory.rate(learning_rate))
    for measured, predicted in zip(tracker.records, theory_records, strict=True):
        assert measured.asymmetry == pytest.approx(predicted.asymmetry, rel=1e-9)
        assert measured.weights["1.weight"].asymmetric == pytest.approx(
            predicted.weights["1.weight"].asymmetric, rel=1e-9
        )
    rate = theory.rate(learning_rate)
    expected = theory.flow.descent(start, rate, torch.tensor([8]))[0]
    assert torch.allclose(model[1].weight.detach().T, expected, atol=EXACT)
    assert coupling(theory.problem.k, theory.features, theory.labels).decoupled
    linearised = tracker.predict(points, targets, optimiser=optimiser, loss="mean")
    assert linearised[-1].asymmetry == pytest.approx(tracker.records[-1].asymmetry, rel=1e-8)


@pytest.mark.parametrize("name", ["images, maps", "points, a vector for each", "graphs, one number"])
def test_orbits_rates_and_steps_are_those_of_the_data(name):
    x, y, words, target, on_samples, on_targets = cases()[name]
    theory = linear_theory((x, y), words, target_action=target)
    points, targets = theory.completed()
    order = theory.action.group.order
    assert points.shape == (len(x) * order, *x.shape[1:])
    for g in range(order):
        assert torch.allclose(points[g::order], on_samples[g](x), atol=EXACT)
        assert torch.allclose(targets[g::order], on_targets[min(g, len(on_targets) - 1)](y), atol=EXACT)
    components = torch.cat([one.rates.repeat_interleave(1) for one in theory.rates])
    whole = theory.flow.rates
    assert float(components.max()) == pytest.approx(float(whole[-1]), rel=1e-9)
    assert sum(row["copies"] for row in theory.table()) == len(components)
    weights = normal(theory.features.dim, theory.labels.dim, seed=9)
    parts = theory.split(weights)
    for g in (1, order - 1):  # the symmetric part gives equivariant predictions
        moved = theory.features.act(g, x.flatten(1)) @ parts.symmetric
        assert torch.allclose(moved, theory.labels.act(g, x.flatten(1) @ parts.symmetric), atol=1e-9)
    learning_rate = 0.1 * theory.flow.stable_rate * len(points) * theory.labels.dim / 2
    steps = theory.steps(weights, 0.5, learning_rate)
    if math.isfinite(steps):
        at = theory.flow.weights(weights, torch.tensor([steps * theory.rate(learning_rate)]))[0]
        left = theory.split(at).asymmetric.norm() / parts.asymmetric.norm()
        assert float(left) == pytest.approx(0.5, rel=1e-6)
    assert "slowest asymmetric rate" in repr(theory)


def test_classes_are_rows_with_one_1():
    images, labels = normal(6, 3, 3), torch.tensor([4, 7, 4, 9, 7, 9])
    theory = linear_theory((images, labels), "C4")
    assert theory.data.target_shape == (3,)
    assert theory.data.targets[1].tolist() == [0, 1, 0]
    assert theory.target_action is None


def test_orthogonal_rotations_are_taken_and_networks_are_tracked():
    images, y = normal(5, 6, 6), normal(5)
    theory = linear_theory((images, y), "C8 rotation:orthogonal")
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, 1), nn.Flatten(0)).double()
    tracker = theory.tracker(net, normal(3, 6, 6, seed=2))
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-4)
    points, targets = theory.completed()
    for _ in range(2):
        optimiser.zero_grad()
        nn.functional.mse_loss(net(points), targets).backward()
        optimiser.step()
        tracker.record()
    [*_, last] = tracker.predict(points, targets, optimiser=optimiser, loss="mean")
    assert last.asymmetry == pytest.approx(tracker.records[-1].asymmetry, rel=1e-4)
    assert last.weights == {}


def test_bad_input():
    images, vectors = normal(5, 6, 6), normal(5, 2)
    with pytest.raises(InputError, match="rotation:orthogonal, or quarter turns"):
        linear_theory((images, normal(5)), "C8")
    with pytest.raises(InputError, match="vectors of 2 numbers: do they change"):
        linear_theory((images, vectors), "C4")
    with pytest.raises(InputError, match=r"maps of shape \(6, 6\): do they change.*'image'"):
        linear_theory((images, images), "C4")
    with pytest.raises(InputError, match=r"expected an action of C4.*got one of C2"):
        linear_theory(
            (images, vectors),
            "C4",
            target_action=linear_action(from_matrices(cyclic(2), torch.stack([turn(0), turn(2)]))),
        )
    none = custom_action(cyclic(4), lambda g, y: y @ turn(g * g, 5).T, 1, "squares")
    with pytest.raises(InputError, match=r"action squares.*no representation of C4"):
        linear_theory((images, vectors), "C4", target_action=none)
    bent = custom_action(cyclic(2), lambda g, y: -y.abs() if g else y, 1, "bent")
    with pytest.raises(InputError, match="action bent: expected a linear map"):
        linear_theory((normal(5, 1, 4), vectors), shift(2), target_action=bent)
    with pytest.raises(InputError, match="expected outputs with 2 axes or more"):
        linear_theory((images, vectors), "C4", target_action="image")
    with pytest.raises(InputError, match="one label for each of 5 samples, got 4"):
        linear_theory((images, vectors[:4]), "C4", target_action="vector")
    with pytest.raises(InputError, match=r"finite"):
        linear_theory((images * torch.nan, vectors), "C4", target_action="vector")
    with pytest.raises(InputError, match=r"none|empty|at least one"):
        linear_theory((torch.zeros(3, 0, 2, dtype=torch.float64), normal(3)), "C4 points")
    stretched = torch.diag(torch.tensor([1.0, 2.0], dtype=torch.float64))
    skew = from_matrices(
        cyclic(4), torch.stack([stretched @ turn(k) @ stretched.inverse() for k in range(4)])
    )
    with pytest.raises(InputError, match=r"keeps lengths on the targets \(Assumption 5\)"):
        linear_theory((images, vectors), "C4", target_action=skew)
    theory = linear_theory((images, vectors), rotation(4), target_action="vector")
    with pytest.raises(InputError, match=r"diverges"):
        theory.rate(1e9)
    tracker = theory.tracker(nn.Sequential(nn.Flatten(), nn.Linear(36, 2)).double())
    with pytest.raises(InputError, match=r"expected nn.Linear\(..., bias=False\)"):
        tracker.predict_linear(theory.flow, learning_rate=1e-6)
