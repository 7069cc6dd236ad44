"""Linearised training: against descent itself, a solver, kernel prediction, and wide networks."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from torch import nn

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.groups import cyclic, permutation
from symscope.kernels import empirical_ntk_blocks
from symscope.kernels.prediction import gradient_descent_prediction, gradient_flow_prediction
from symscope.linear import orbit_regression, second_moments
from symscope.linear._closed_flow import regression_flow
from symscope.linear.asymmetry import asymmetry_loss
from symscope.linear.linearised import linearised_network, predicted_asymmetry
from symscope.networks.architectures import mlp, pair_mlp
from tests.tolerances import ODE


def normal(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def trained(module, x, y, rate, steps, loss):
    """Plain full-batch gradient descent."""
    optimiser = torch.optim.SGD(module.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss(module(x), y).backward()
        optimiser.step()
    return module


def layer(d, o, seed, bias=True):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Linear(d, o, bias=bias).double()


LOSSES = {
    "mean": nn.MSELoss(),
    "sum": nn.MSELoss(reduction="sum"),
    "half sum": lambda f, y: (f - y).square().sum() / 2,
}


@given(
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 3),
    st.sampled_from(sorted(LOSSES)),
    st.integers(0, 40),
)
def test_a_linear_layer_is_followed_exactly_whatever_the_rank(seed, n, d, o, loss, steps):
    x, y = normal(n, d, seed=seed), normal(n, o, seed=seed + 1)
    x[:, -1] = x[:, 0]  # rank deficient, unless d is 1
    net = layer(d, o, seed)
    rate = 0.05 / n if loss != "mean" else 0.05
    lin = linearised_network(net, x, y, learning_rate=rate, loss=loss)
    assert lin.in_weight_space == ((d + 1) * o <= n * o)
    points = normal(4, d, seed=seed + 2)
    predicted = lin.training(points, [steps])[0]
    after = trained(net, x, y, rate, steps, LOSSES[loss])(points).detach()
    assert torch.allclose(predicted, after, atol=1e-9)


def test_flow_against_a_solver_and_kernel_prediction():
    net, x, y, points = (
        mlp((3, 10, 2), seed=2),
        normal(6, 3, seed=0),
        normal(6, 2, seed=1),
        normal(5, 3, seed=2),
    )
    lin = linearised_network(net, x, y, learning_rate=0.01, loss="half sum")
    assert not lin.in_weight_space
    theta = empirical_ntk_blocks(net, x).permute(0, 2, 1, 3).reshape(12, 12)
    cross = empirical_ntk_blocks(net, points, x).permute(0, 2, 1, 3).reshape(10, 12)
    start, there = (net(z).detach().reshape(-1, 1) for z in (x, points))
    options = {"ridge": 0.0, "initial_train": start, "initial_test": there}
    steps = [0, 3, 50]
    by_kernel = gradient_flow_prediction(
        theta, cross, y.reshape(-1, 1), times=[0.0, 3.0, 50.0], learning_rate=0.01, **options
    )
    assert torch.allclose(
        lin.training(points, steps, flow=True).reshape(3, -1), by_kernel.mean[..., 0], atol=1e-9
    )
    descent = gradient_descent_prediction(
        theta, cross, y.reshape(-1, 1), steps=steps, learning_rate=0.01, **options
    )
    assert torch.allclose(lin.training(points, steps).reshape(3, -1), descent.mean[..., 0], atol=1e-9)
    numpy = theta.numpy()
    solved = solve_ivp(
        lambda _, f: -0.01 * numpy @ (f - y.flatten().numpy()),
        (0, 50),
        start[:, 0].numpy(),
        rtol=1e-11,
        atol=1e-11,
    )
    on_data = lin.training(x, [50], flow=True)[0].flatten()
    assert (on_data - torch.from_numpy(solved.y[:, -1])).abs().max() < ODE


def test_it_is_the_closed_form_of_the_paper_on_complete_orbits():
    toy = permuted_cube(9, 1)
    whole = toy.completed()
    net = layer(3, 1, 5, bias=False)
    lin = linearised_network(net, whole.features, whole.targets, learning_rate=0.01, loss="half sum")
    problem = orbit_regression(second_moments(toy.features, toy.targets), toy.group)
    solution = regression_flow(problem.k, problem.c)
    w0 = net.weight.detach()[0]
    for step in (0, 1, 7, 300):
        closed = solution.descent(w0, 0.01, torch.tensor([step]))[0]
        assert torch.allclose(w0 + lin.displacement(step), closed, atol=1e-10)
        closed = solution.weights(w0, torch.tensor([0.01 * step], dtype=torch.float64))[0]
        assert torch.allclose(w0 + lin.displacement(step, flow=True), closed, atol=1e-10)
    assert torch.allclose(w0 + lin.displacement(math.inf), solution.limit(w0), atol=1e-9)
    assert float(predicted_asymmetry(lin, toy.features, toy.group, [math.inf])[0]) < 1e-9


def test_both_spaces_agree():
    """The same problem with every point twice, at half the rate, has more points than weights."""
    net = mlp((2, 4, 1), seed=0)  # 17 weights
    x, y, points = normal(16, 2, seed=3), normal(16, 1, seed=4), normal(6, 2, seed=5)
    outside = linearised_network(net, x, y, learning_rate=0.02, loss="half sum")
    assert not outside.in_weight_space
    twice = torch.cat([x, x])
    inside = linearised_network(net, twice, torch.cat([y, y]), learning_rate=0.01, loss="half sum")
    assert inside.in_weight_space
    assert torch.allclose(outside.training(points, [11]), inside.training(points, [11]), atol=1e-9)


def test_wide_networks_follow_their_linearisation_the_closer_the_wider():
    toy = permuted_cube(5, 3).completed()
    fresh = permuted_cube(20, 8).features
    gaps = []
    for width in (64, 4096):
        net = pair_mlp(3, width, seed=1)
        lin = linearised_network(net, toy.features, toy.targets, learning_rate=0.01, loss="half sum")
        predicted = predicted_asymmetry(lin, fresh, toy.group, [60])[0]
        trained(net, toy.features, toy.targets[:, None], 0.01, 60, LOSSES["half sum"])
        with torch.no_grad():
            measured = asymmetry_loss(net, fresh, toy.group)
        gaps.append(float((predicted / measured - 1).abs()))
    assert gaps[1] < 0.05
    assert gaps[1] < gaps[0]


def test_float32_modules_and_equivariant_outputs():
    net, swap = layer(2, 2, 7, bias=False).float(), permutation(cyclic(2))
    x = normal(30, 2, seed=1).float()
    whole, targets = torch.cat([x, x.flip(1)]), torch.cat([x.flip(1) ** 2, x**2])
    lin = linearised_network(net, whole, targets, learning_rate=0.1, loss="mean")
    result = predicted_asymmetry(lin, x, swap, [0, 400], outputs=swap)
    with torch.no_grad():
        start = asymmetry_loss(net, x, swap, swap)
    assert float(result[0]) == pytest.approx(float(start), rel=1e-5)
    assert float(result[1]) < 1e-6 * float(result[0])


def test_bad_input():
    net, x, y = mlp((3, 4, 1)), normal(5, 3, seed=0), normal(5, 1, seed=1)
    with pytest.raises(InputError, match="loss: expected one of 'mean', 'sum', 'half sum', got 'mse'"):
        linearised_network(net, x, y, learning_rate=0.1, loss="mse")
    with pytest.raises(InputError, match="learning_rate: expected a positive"):
        linearised_network(net, x, y, learning_rate=-0.1, loss="mean")
    with pytest.raises(InputError, match=r"y: expected targets \[5, 1\]"):
        linearised_network(net, x, y[:4], learning_rate=0.1, loss="mean")
    with pytest.raises(InputError, match="y: expected finite"):
        linearised_network(net, x, y / 0, learning_rate=0.1, loss="mean")
    with pytest.raises(InputError, match="rank_tolerance"):
        linearised_network(net, x, y, learning_rate=0.1, loss="mean", rank_tolerance=3.0)
    fast = linearised_network(net, x, y, learning_rate=1e3, loss="sum")
    with pytest.raises(InputError, match="diverges at this one; the largest stable is"):
        fast.displacement(1)
    assert bool(fast.displacement(1, flow=True).isfinite().all())
    with pytest.raises(InputError, match="step: expected 0 or more"):
        fast.displacement(-1, flow=True)


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_outputs_of_any_shape_are_those_of_rows(shape):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(7, 4, dtype=torch.float64, generator=generator)
    rows = math.prod(shape)
    torch.manual_seed(0)
    layers = [nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, rows)]
    flat = nn.Sequential(*layers).double()
    shaped = nn.Sequential(*layers, nn.Unflatten(1, shape) if shape else nn.Flatten(0)).double()
    y = torch.randn(7, rows, dtype=torch.float64, generator=generator)
    plain = linearised_network(flat, x, y, learning_rate=0.01, loss="mean")
    lin = linearised_network(shaped, x, y.reshape(7, *shape), learning_rate=0.01, loss="mean")
    trained, expected = lin.training(x[:3], [0, 5]), plain.training(x[:3], [0, 5])
    assert trained.shape == (2, 3, *shape)
    torch.testing.assert_close(trained.reshape(2, 3, rows), expected)
    changes = lin.changes(lin.displacement(5))
    for name, change in plain.changes(plain.displacement(5)).items():
        torch.testing.assert_close(changes[name], change)
    with pytest.raises(InputError, match=r"y: expected targets \[7"):
        linearised_network(shaped, x, torch.ones(7, 4, dtype=torch.float64), learning_rate=0.1, loss="mean")
