"""Paths from E: against exact gradients and descent of symscope.dynamics, in both precisions."""

from __future__ import annotations

import math

import pytest
import torch

from symscope import InputError
from symscope.dynamics import (
    TrainingProblem,
    declare_network,
    equivariant_weights,
    gradient_field,
    training_descent,
)
from symscope.dynamics.gradients import augmented_gradient, nominal_gradient
from symscope.dynamics.layer_steps import batch_normalisation
from symscope.dynamics.layer_vectors import gaussian_weights, residual
from symscope.dynamics.layer_vectors import norm as layers_norm
from symscope.groups import cyclic, direct_product, permutation, symmetric, trivial
from symscope.networks.losses import binary_cross_entropy_loss, soft_cross_entropy_loss
from symscope_papers.dynamics.strategies import paths as module
from symscope_papers.dynamics.strategies.passes import drawn_passes, plain_passes
from symscope_papers.dynamics.strategies.paths import gradient_flops, pass_gradient, path, sampling_drift
from tests.dynamics.networks import _pixels
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING, SINGLE


def image_problem(dtype=torch.float64, seed=0):
    """Shifts of 3 x 2 images, two dense layers, pooling, a head; five mini-batches."""
    g = direct_product(cyclic(3), cyclic(2))
    v = permutation(g, _pixels(3, 2))
    net = declare_network(
        [v, 2 * v, 3 * v, trivial(g, 4), trivial(g, 3)],
        ["leaky_relu", "leaky_relu", [batch_normalisation(), "leaky_relu"], ()],
    )
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(5, 7, v.dim, generator=generator, dtype=torch.float64)
    y = torch.nn.functional.one_hot(torch.randint(3, (5, 7), generator=generator), 3)
    start = equivariant_weights(net, generator, runs=(2,))
    problem = TrainingProblem(net, soft_cross_entropy_loss, x.to(dtype), y.to(dtype))
    return problem, tuple(layer.to(dtype) for layer in start)


def graph_problem(seed=0):
    g = symmetric(8)  # too large to be listed
    v = permutation(g)
    net = declare_network([v * v, 2 * (v * v), trivial(g, 1)], ["leaky_relu", ()])
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 6, 64, generator=generator, dtype=torch.float64)
    y = torch.randint(2, (2, 6, 1), generator=generator).to(torch.float64)
    return TrainingProblem(net, binary_cross_entropy_loss, x, y), equivariant_weights(
        net, generator, runs=(2,)
    )


def test_the_gradient_is_the_rooms_own_in_pieces_too(monkeypatch):
    problem, layers = image_problem()
    layers = tuple(a + 0.1 * torch.randn_like(a) for a in layers)  # off E
    expected = nominal_gradient(problem, layers)
    for bytes_at_once in (2**27, 1):
        monkeypatch.setattr(module, "LARGEST_BYTES", {"cpu": bytes_at_once})
        result, risk = pass_gradient(problem, layers, plain_passes(problem))
        for one, other in zip(result, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=ROUNDING, atol=ROUNDING)
        assert risk.shape == (2,)


def test_drawn_passes_average_over_the_elements_that_were_drawn():
    problem, layers = image_problem()
    layers = tuple(a + 0.1 * torch.randn_like(a) for a in layers)
    seen = drawn_passes(problem, 4, [torch.Generator().manual_seed(s) for s in (1, 2)])
    result, _ = pass_gradient(problem, layers, seen)
    group = problem.network.group
    counts = seen.shares * 4 * 5  # of every (mini-batch, element) that any run drew
    torch.testing.assert_close(counts.sum(1), torch.full((2,), 20.0, dtype=torch.float64))
    table = torch.stack([torch.argsort(problem.network.sources[0].permutation(g)) for g in group.elements])
    for run in range(2):
        total = [torch.zeros_like(a[run]) for a in layers]
        for p in range(len(seen)):
            b = int(seen.batch[p])
            [element] = [g for g in group.elements if torch.equal(table[g], seen.source[0, p])]
            one = TrainingProblem(problem.network, problem.loss, problem.x[b], problem.y[b])
            gradient = augmented_gradient(one, [a[run] for a in layers], [element])
            total = [t + counts[run, p] / 20 * g for t, g in zip(total, gradient, strict=True)]
        for one_layer, other in zip(result, total, strict=True):
            torch.testing.assert_close(one_layer[run], other, rtol=ROUNDING, atol=ROUNDING)


def test_permuted_graphs_give_the_gradient_of_the_permuted_problem():
    problem, layers = graph_problem()
    layers = tuple(a + 0.1 * torch.randn_like(a) for a in layers)
    generators = [torch.Generator().manual_seed(s) for s in (3, 4)]
    seen = drawn_passes(problem, 3, generators)
    assert len(seen) == 6
    assert seen.target is None
    result, _ = pass_gradient(problem, layers, seen)
    x, y = seen.data(problem)
    for run in range(2):
        plain = TrainingProblem(problem.network, problem.loss, x[run], y[0])
        for one, other in zip(result, nominal_gradient(plain, [a[run] for a in layers]), strict=True):
            torch.testing.assert_close(one[run], other, rtol=ROUNDING, atol=ROUNDING)
    # rows and columns move together: each seen matrix has the traces and sums of an original
    before = problem.x[seen.batch].unflatten(-1, (8, 8)).diagonal(dim1=-2, dim2=-1).sum(-1)
    after = x[1].unflatten(-1, (8, 8)).diagonal(dim1=-2, dim2=-1).sum(-1)
    torch.testing.assert_close(before, after)
    assert not torch.equal(x[0], x[1])


@pytest.mark.parametrize("strategy", ["nominal", "equivariant"])
def test_paths_are_those_of_gradient_descent(strategy):
    problem, start = image_problem()
    result = path(problem, start, strategy, rate=1e-3, epochs=4)
    known = training_descent(problem.network, gradient_field(problem, strategy), start, rate=1e-3, steps=4)
    torch.testing.assert_close(result.travelled.norm(dim=1), known.travelled(), rtol=1e-9, atol=ROUNDING)
    torch.testing.assert_close(result.drift.norm(dim=1), known.drift(), rtol=1e-9, atol=ROUNDING)
    assert result.samples == 4 * 35 * 2
    if strategy == "equivariant":
        assert float(result.drift.max() / result.travelled.max()) < ROUNDING


def test_single_precision_follows_double_far_below_its_own_digits():
    problem, start = image_problem(torch.float32)
    wide = TrainingProblem(problem.network, problem.loss, problem.x.double(), problem.y.double())
    for strategy in ("augmented", "nominal"):
        drifts = [
            path(
                p, s, strategy, rate=1e-8, epochs=3, passes=4,
                generators=[torch.Generator().manual_seed(k) for k in (5, 6)],
            ).drift[-1].norm(dim=0)
            for p, s in ((problem, start), (wide, tuple(a.double() for a in start)))
        ]  # fmt: skip
        assert float(drifts[1].max()) < 1e-7  # below half a digit of the layers
        torch.testing.assert_close(*drifts, rtol=20 * SINGLE, atol=0.0)


def test_half_precision_on_the_way_back_follows_double():
    problem, start = image_problem(torch.float32)
    wide = TrainingProblem(problem.network, problem.loss, problem.x.double(), problem.y.double())
    for strategy in ("augmented", "nominal", "equivariant"):
        one, other = (
            path(
                p, s, strategy, rate=1e-8, epochs=3, passes=4, mixed=p is problem,
                generators=[torch.Generator().manual_seed(k) for k in (5, 6)],
            )
            for p, s in ((problem, start), (wide, tuple(a.double() for a in start)))
        )  # fmt: skip
        torch.testing.assert_close(one.travelled, other.travelled, rtol=2**-9, atol=0.0)
        if strategy == "equivariant":
            assert float(one.drift.max() / one.travelled.max()) < SINGLE
        else:
            torch.testing.assert_close(one.drift, other.drift, rtol=2**-9, atol=0.0)
            assert not torch.allclose(one.drift, other.drift, rtol=1e-6, atol=0.0)  # it did round


def test_augmented_drift_is_the_predicted_sampling_noise():
    problem, start = image_problem(seed=3)
    one = tuple(a[:1] for a in start)
    repeats = 40
    many = tuple(a.expand(repeats, *a.shape[1:]).contiguous() for a in one)
    result = path(
        problem, many, "augmented", rate=1e-6, epochs=3, passes=5,
        generators=[torch.Generator().manual_seed(k) for k in range(repeats)],
    )  # fmt: skip
    squares = result.drift[-1].square().sum(0)
    predicted = 3 * (1e-6 * sampling_drift(problem, one, passes=5)) ** 2
    error = squares.std() / repeats**0.5
    assert abs(float(squares.mean() - predicted)) < MONTE_CARLO_SIGMAS * float(error)
    # and without sampling there is no drift: the gradient of all elements stays in E
    whole = augmented_gradient(problem, one)
    assert float(layers_norm(residual(problem.network, whole))) < ROUNDING


def test_elements_that_are_never_drawn_leave_their_symmetry_behind():
    problem, start = image_problem()
    generators = [torch.Generator().manual_seed(s) for s in (1, 2)]
    identity_only = [1.0] + [0.0] * 5
    kept = path(
        problem, start, "augmented", rate=1e-3, epochs=2, generators=generators, weights=identity_only
    )
    plain = path(problem, start, "nominal", rate=1e-3, epochs=2)
    torch.testing.assert_close(kept.drift, plain.drift, rtol=1e-9, atol=ROUNDING)


def test_operations_count_forward_and_both_products_back():
    problem, _ = image_problem()
    (a, b), (c, d), (e, f), (g, h) = problem.network.shapes
    expected = 2 * 10 * (2 * a * b + 3 * (c * d + e * f + g * h))
    assert gradient_flops(problem, 10) == expected
    assert gradient_flops(problem, 10, halved=True) == 3 * expected
    first = 2 * 10 * math.prod(problem.network.shapes[0])  # has no product back to its inputs
    assert gradient_flops(problem, 10, mixed=True) == 2 * (expected - 2 * first) + 4 * first


def test_bad_input_is_refused():
    problem, start = image_problem()
    flat = TrainingProblem(problem.network, problem.loss, problem.x[0], problem.y[0])
    with pytest.raises(InputError, match="expected a strategy among"):
        path(problem, start, "augmentd", rate=1.0, epochs=1)
    with pytest.raises(InputError, match="expected a positive rate"):
        path(problem, start, "nominal", rate=0.0, epochs=1)
    with pytest.raises(InputError, match="expected mini-batches"):
        path(flat, start, "nominal", rate=1.0, epochs=1)
    with pytest.raises(InputError, match="expected one generator for each of 2 runs, got 1"):
        path(problem, start, "augmented", rate=1.0, epochs=1, generators=[torch.Generator()])
    with pytest.raises(InputError, match="no longer finite"):
        path(problem, start, "nominal", rate=1e300, epochs=9)


def test_a_start_outside_e_is_refused():
    problem, start = image_problem()
    off = gaussian_weights(problem.network, torch.Generator().manual_seed(0), runs=(2,))
    with pytest.raises(InputError, match=r"expected layers in E .*in run 0.*equivariant_weights"):
        path(problem, off, "nominal", rate=1e-6, epochs=1)
    with pytest.raises(InputError, match="layer 0 has NaN"):
        path(problem, [layer * math.nan for layer in start], "nominal", rate=1e-6, epochs=1)


def test_one_loss_for_all_samples_is_refused():
    problem, start = image_problem()
    averaged = TrainingProblem(problem.network, lambda p, y: (p - y).square().mean(), problem.x, problem.y)
    with pytest.raises(InputError, match=r"one loss per sample, shape \(2, 5, 7\), got \(\)"):
        path(averaged, start, "nominal", rate=1e-3, epochs=1)


def test_other_dtypes_are_refused():
    problem, start = image_problem()
    single, narrow = image_problem(torch.float32)
    with pytest.raises(InputError, match=r"layer 0 is torch.float32 .* samples are torch.float64"):
        path(problem, narrow, "nominal", rate=1e-3, epochs=1)
    for mixed in (False, True):
        with pytest.raises(InputError, match=r"layer 0 is torch.float64 .* samples are torch.float32"):
            path(single, start, "nominal", rate=1e-3, epochs=1, mixed=mixed)
