"""The spectrum outside and inside E against dense eigenvalues."""

from __future__ import annotations

import importlib
import math

import pytest
import torch

from symscope import InputError
from symscope.dynamics import TrainingProblem, declare_network, equivariant_weights, stability
from symscope.dynamics.averaged_elements import drawn_elements
from symscope.dynamics.curvature import hessian
from symscope.dynamics.deviations import perturbed_weights
from symscope.dynamics.layer_vectors import (
    equivariant_split,
    flatten,
    gaussian_weights,
    norm,
    project,
    residual,
    unflatten,
)
from symscope.dynamics.risks import augmented_problem, nominal_risk
from symscope.groups import cyclic, permutation, symmetric, trivial
from symscope.networks.losses import half_squared_loss
from tests.dynamics.networks import networks, problem, seeded
from tests.tolerances import LANCZOS, MONTE_CARLO_SIGMAS

module = importlib.import_module("symscope.dynamics._stability")  # the function has its name


def basis_of_e(net):
    return torch.stack(
        [flatten(project(net, unflatten(net, e))) for e in torch.eye(net.parameters, dtype=torch.float64)]
    )


@pytest.mark.parametrize("name", networks())
def test_ends_of_the_spectrum_are_the_dense_ones(name):
    given = problem(name)
    net = given.network
    weights = equivariant_weights(net, seeded(1), scale="preserving")
    result = stability(given, weights, tolerance=1e-12)
    h = hessian(augmented_problem(given), weights)
    projector = basis_of_e(net)
    values, vectors = torch.linalg.eigh(projector)
    inside, outside = vectors[:, values > 0.5], vectors[:, values < 0.5]
    for extremes, basis in ((result.inside, inside), (result.outside, outside)):
        spectrum = torch.linalg.eigvalsh(basis.T @ h @ basis)
        assert extremes.dimension == basis.shape[1]
        assert extremes.lowest == pytest.approx(float(spectrum[0]), abs=LANCZOS)
        assert extremes.highest == pytest.approx(float(spectrum[-1]), abs=LANCZOS)
        for value, layers in (
            (extremes.lowest, extremes.lowest_direction),
            (extremes.highest, extremes.highest_direction),
        ):
            v = flatten(layers)
            assert float(torch.linalg.vector_norm(h @ v - value * v)) < 1e-6
            assert float(norm(layers)) == pytest.approx(1)
        assert extremes.residual < 1e-6
        assert extremes.products > 0
    assert float(equivariant_split(net, result.outside.lowest_direction).total_equivariant) < LANCZOS
    assert float(equivariant_split(net, result.inside.lowest_direction).total_residual) < LANCZOS


def test_verdicts_and_penalty():
    """A layer to one number with loss y z^2 / 2 has the curvature one wants: `mean y x x^T`."""
    g = cyclic(3)
    net = declare_network([permutation(g), trivial(g)])
    x, zero = torch.eye(3, dtype=torch.float64), [torch.zeros(1, 3, dtype=torch.float64)]
    bilinear = lambda p, y: (y * p**2).sum(-1) / 2  # noqa: E731
    for scale, verdict, gamma in ((6.0, "stable", 0.0), (-6.0, "unstable", 1.0), (0.0, "neutral", 0.0)):
        given = TrainingProblem(net, bilinear, x, torch.full((3, 1), scale, dtype=torch.float64))
        result = stability(given, zero)
        assert result.verdict == verdict
        assert result.outside.lowest == pytest.approx(scale / 3, abs=1e-12)
        assert result.growth_rate == -result.outside.lowest
        assert result.stabilising_penalty == pytest.approx(gamma)
        assert float(norm(residual(net, result.outside.lowest_direction))) == pytest.approx(1)


def test_where_e_is_everything_or_nothing():
    g = cyclic(2)
    one, x = trivial(g), torch.ones(2, 1, dtype=torch.float64)
    result = stability(TrainingProblem(declare_network([one, one]), half_squared_loss, x, x), [x[:1]])
    assert result.outside is None
    assert (result.verdict, result.stabilising_penalty, result.growth_rate) == ("stable", 0.0, -math.inf)
    from symscope.groups import from_matrices

    sign = from_matrices(g, torch.tensor([[[1.0]], [[-1.0]]]), name="sign")
    odd = stability(TrainingProblem(declare_network([one, sign]), half_squared_loss, x, x), [0 * x[:1]])
    assert odd.inside is None
    assert odd.outside.lowest == pytest.approx(1)


def test_sampled_elements_carry_a_standard_error():
    given = problem("S4", samples=3)
    weights = equivariant_weights(given.network, seeded(1), scale="preserving")
    exact = stability(given, weights)
    assert exact.standard_error == 0
    result = stability(given, weights, elements=drawn_elements(given.network.group, 300, seeded(2)))
    assert result.elements == 300
    gap = abs(result.outside.lowest - exact.outside.lowest)
    assert 0 < gap < MONTE_CARLO_SIGMAS * result.standard_error + 0.1 * abs(exact.outside.highest)
    g = symmetric(10)
    v = permutation(g)
    net = declare_network([v, 2 * v, trivial(g)], "tanh")
    x = torch.randn(5, 10, dtype=torch.float64, generator=seeded(3))
    big = TrainingProblem(net, half_squared_loss, x, x[:, :1])
    start = equivariant_weights(net, seeded(4), scale="preserving")
    with pytest.raises(InputError, match="drawn_elements"):
        stability(big, start)
    assert stability(big, start, elements=drawn_elements(g, 10, seeded(5))).standard_error > 0


def test_the_lowest_eigenvalue_of_sampled_elements_is_right_in_the_mean():
    """The average of sampled elements alone gives it too low, by more than a standard error here."""
    group = cyclic(6)
    v, generator = permutation(group), seeded(0)
    net = declare_network([v, v, trivial(group)], "tanh")
    x, y = (torch.randn(6, d, generator=generator, dtype=torch.float64) for d in (6, 1))
    given = TrainingProblem(net, half_squared_loss, x, y)
    weights = equivariant_weights(net, generator, scale="preserving")
    exact = stability(given, weights).outside.lowest
    outside = torch.eye(net.parameters, dtype=torch.float64) - basis_of_e(net)
    lowest, averages, errors = [], [], []
    for _ in range(12):
        elements = drawn_elements(group, 12, generator)
        result = stability(given, weights, elements=elements)
        lowest.append(result.outside.lowest)
        errors.append(result.standard_error)
        curvature = hessian(augmented_problem(given, elements), weights)
        averages.append(float(torch.linalg.eigvalsh(outside @ curvature @ outside)[0]))
    error = sum(errors) / len(errors)
    mean, average = sum(lowest) / len(lowest), sum(averages) / len(averages)
    assert average < exact - 0.7 * error
    assert abs(mean - exact) < 0.5 * (exact - average)


def taught(order, channels, samples, seed, noise):
    """A network of C_n on data that it fits up to noise."""
    g = cyclic(order)
    v = permutation(g)
    net = declare_network([v, channels * v, trivial(g)], "tanh")
    generator = seeded(seed)
    x = torch.randn(samples, order, dtype=torch.float64, generator=generator)
    weights = equivariant_weights(net, generator, scale="preserving")
    y = net.forward(weights, x)
    y = y + noise * torch.randn(y.shape, dtype=torch.float64, generator=generator)
    return TrainingProblem(net, half_squared_loss, x, y), weights


def explicit(given, weights):
    """Eigenvalues of Hess R_aug on E_perp, by differentiating the risk of a flat vector twice."""
    net, whole = given.network, augmented_problem(given)
    h = torch.autograd.functional.hessian(
        lambda v: nominal_risk(whole, unflatten(net, v)), flatten(weights), vectorize=True
    )
    values, vectors = torch.linalg.eigh(basis_of_e(net))
    outside = vectors[:, values < 0.5]
    return torch.linalg.eigvalsh(outside.T @ h @ outside)


def verdict_of(spectrum):
    lowest, largest = float(spectrum[0]), float(spectrum.abs().max())
    return "neutral" if abs(lowest) <= 1e-9 * largest else "stable" if lowest > 0 else "unstable"


FITS = [(6, 4, 10), (8, 4, 60)]  # fewer gradients of outputs than dimensions outside E, and more


@pytest.fixture(params=["exact", "iterated", "iterated, then exact"])
def path(request, monkeypatch):
    if request.param != "exact":
        monkeypatch.setattr(module, "EXACT_UP_TO", 128)
    if request.param == "iterated":
        monkeypatch.setattr(module, "LARGEST_DENSE", 0)
    return request.param


@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-3])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", FITS)
def test_networks_that_fit_their_data(shape, seed, noise):
    """The lowest curvature is zero or next to it, and must not be passed over for one above."""
    given, weights = taught(*shape, seed, noise)
    spectrum = explicit(given, weights)
    result = stability(given, weights)
    assert result.verdict == verdict_of(spectrum)
    assert result.outside.lowest == pytest.approx(float(spectrum[0]), abs=1e-13)
    assert result.outside.highest == pytest.approx(float(spectrum[-1]), rel=1e-12)
    assert result.outside.products == result.outside.dimension


def test_no_curvature_is_passed_over_for_one_above():
    given, weights = taught(6, 4, 10, 1, 0.0)
    spectrum = explicit(given, weights)
    assert int((spectrum.abs() > 1e-10).sum()) < len(spectrum) / 2
    for seed in range(4):
        result = stability(given, weights, seed=seed)
        assert result.verdict == "neutral"
        assert abs(result.outside.lowest) < 1e-13


@pytest.mark.parametrize(
    ("shape", "noise"), [((6, 4, 10), 0.0), ((6, 8, 10), 1e-3), ((8, 4, 60), 0.0), ((8, 4, 60), 0.5)]
)
def test_every_path_finds_the_ends(path, shape, noise):
    given, weights = taught(*shape, 1, noise)
    spectrum = explicit(given, weights)
    result = stability(given, weights)
    largest = float(spectrum.abs().max())
    assert result.verdict == verdict_of(spectrum)
    assert result.outside.lowest == pytest.approx(float(spectrum[0]), abs=1e-8 * largest)
    assert result.outside.highest == pytest.approx(float(spectrum[-1]), abs=1e-8 * largest)
    assert result.outside.residual < 1e-8 * largest
    for layers in (result.outside.lowest_direction, result.outside.highest_direction):
        assert float(norm(layers)) == pytest.approx(1)
        assert float(equivariant_split(given.network, layers).total_equivariant) < 1e-12


def test_slow_iterations_end_in_the_matrix_or_in_an_error(monkeypatch):
    given, weights = taught(8, 4, 60, 0, 0.0)
    monkeypatch.setattr(module, "EXACT_UP_TO", 128)
    result = stability(given, weights)
    assert result.outside.dimension < result.outside.products <= 2 * result.outside.dimension + 2
    assert result.outside.residual < 1e-13
    monkeypatch.setattr(module, "LARGEST_DENSE", 0)
    monkeypatch.setattr(module, "MOST_PRODUCTS", 60)
    with pytest.raises(InputError, match=r"outside E to 1e-08 .* after 62 Hessian .* larger tolerance"):
        stability(given, weights)
    coarse = stability(given, weights, tolerance=0.05)
    assert coarse.verdict == "neutral"
    assert coarse.outside.products <= 62


def test_a_residual_hides_what_is_below_but_no_sign_that_was_seen():
    """A Ritz value lies above the lowest eigenvalue, however large its residual is."""
    unit = (torch.ones(1, 1, dtype=torch.float64),)
    for lowest, verdict in ((-1e-3, "unstable"), (1e-3, "neutral"), (0.5, "stable")):
        ends = module.CurvatureEnds(lowest, 1.0, unit, unit, residual=1e-3, products=4, dimension=10_000)
        assert module.Stability(ends, None, 4, 0.0).verdict == verdict
        assert module.Stability(ends, None, 4, 0.2).verdict == "neutral"


def test_single_precision_calls_its_rounding_neutral(path):
    given, weights = taught(6, 4, 10, 1, 0.0)
    single = TrainingProblem(given.network, half_squared_loss, given.x.float(), given.y.float())
    result = stability(single, [w.float() for w in weights])
    assert result.verdict == "neutral"
    assert result.outside.lowest_direction[0].dtype == torch.float32


def test_rounding_of_curvature_on_e_is_no_curvature_outside(path):
    """Invariant data curve the risk on E only; what rounding adds outside has a sign, and no meaning."""
    g = cyclic(12)
    v = permutation(g)
    net = declare_network([v, trivial(g, 24)])
    x = torch.linspace(0.3, 2.1, 7, dtype=torch.float64)[:, None].expand(7, 12)
    weights = equivariant_weights(net, seeded(0))
    result = stability(TrainingProblem(net, half_squared_loss, x, x[:, :1].expand(7, 24)), weights)
    assert result.verdict == "neutral"
    assert result.inside.highest > 1
    assert abs(result.outside.lowest) < 1e-12


def test_infinite_curvature_is_refused():
    g = cyclic(2)
    net = declare_network([permutation(g), trivial(g)])
    x = torch.tensor([[1e200, 0.0]], dtype=torch.float64)
    with pytest.raises(InputError, match=r"expected finite"):
        stability(
            TrainingProblem(net, half_squared_loss, x, x[:, :1]), [torch.zeros(1, 2, dtype=torch.float64)]
        )


@pytest.mark.parametrize("elements", [[0], [2], [2, 2, 2]])
def test_elements_all_alike_have_no_error_to_show(elements):
    given = problem("C5")
    weights = equivariant_weights(given.network, seeded(1), scale="preserving")
    result = stability(given, weights, elements=elements)
    assert result.standard_error == math.inf
    assert result.verdict == "neutral"
    assert 0 < stability(given, weights, elements=[0, 2]).standard_error < math.inf


def test_layers_off_e_are_refused():
    given = problem("C5")
    with pytest.raises(InputError, match=r"expected layers in E .*take project"):
        stability(given, gaussian_weights(given.network, seeded(0)))
    with pytest.raises(InputError, match="without an axis of runs"):
        stability(given, equivariant_weights(given.network, seeded(0), runs=(2,)))


def test_perturbed_moves_by_the_length_asked():
    net = networks()["C5"]
    weights = equivariant_weights(net, seeded(0))
    moved = perturbed_weights(weights, gaussian_weights(net, seeded(1)), 1e-3)
    assert float(norm([a - b for a, b in zip(moved, weights, strict=True)])) == pytest.approx(1e-3)
