"""Gradients against finite differences and against each other."""

from __future__ import annotations

from functools import partial

import pytest
import torch

import symscope.dynamics.gradients as gradients_module
from symscope import InputError
from symscope.dynamics import gradient_field
from symscope.dynamics.gradients import (
    augmented_gradient,
    equivariant_gradient,
    feature_averaged_gradient,
    monte_carlo_gradient,
    nominal_gradient,
    penalty_gradient,
)
from symscope.dynamics.layer_vectors import (
    equivariant_split,
    flatten,
    gaussian_weights,
    inner,
    norm,
    residual,
    subtract,
)
from symscope.dynamics.risks import augmented_risk, equivariant_risk, feature_averaged_risk, nominal_risk
from tests.dynamics.networks import networks, problem, seeded
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING

PAIRS = [
    (nominal_risk, nominal_gradient),
    (augmented_risk, augmented_gradient),
    (equivariant_risk, equivariant_gradient),
    (feature_averaged_risk, feature_averaged_gradient),
]


@pytest.mark.parametrize("name", ["C5", "D4"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_gradients_are_slopes(name, pair):
    risk, gradient = pair
    given = problem(name)
    weights = gaussian_weights(given.network, seeded(1), runs=(2,))
    direction = gaussian_weights(given.network, seeded(2), runs=(2,))
    step = 1e-5
    remaining = risk(given, tuple(w + step * d for w, d in zip(weights, direction, strict=True)))
    behind = risk(given, tuple(w - step * d for w, d in zip(weights, direction, strict=True)))
    slope = inner(gradient(given, weights), direction)
    assert torch.allclose((remaining - behind) / (2 * step), slope, rtol=1e-6)


def test_pieces_add_up(monkeypatch):
    given = problem("D4")
    weights = gaussian_weights(given.network, seeded(1), runs=(3,))
    whole = augmented_gradient(given, weights)
    monkeypatch.setattr(gradients_module, "LARGEST_PIECE_BYTES", {"cpu": 3 * 6 * 20 * 8 * 3})
    parts = list(gradients_module.pieces(gradients_module.augmented_problem(given), weights))
    assert len(parts) > 2
    assert abs(sum(share for _, share in parts) - 1) < ROUNDING
    assert float(norm(subtract(whole, augmented_gradient(given, weights))).max()) < ROUNDING * float(
        norm(whole).max()
    )


def test_monte_carlo_error_is_what_repetition_shows():
    given = problem("S4")
    weights = gaussian_weights(given.network, seeded(1))
    exact = augmented_gradient(given, weights)
    squares, claimed = [], []
    for seed in range(20):
        result = monte_carlo_gradient(given, weights, 12, seeded(seed))
        squares.append(float(norm(subtract(result.value, exact))) ** 2)
        claimed.append(float(result.standard_error) ** 2)
    mean, spread = sum(squares) / 20, torch.tensor(squares).std().item() / 20**0.5
    assert abs(mean - sum(claimed) / 20) < MONTE_CARLO_SIGMAS * spread


def test_fields_of_strategies():
    given = problem("C5")
    weights = gaussian_weights(given.network, seeded(1))
    assert torch.equal(
        flatten(gradient_field(given, "nominal")(weights)), flatten(nominal_gradient(given, weights))
    )
    assert torch.allclose(
        flatten(gradient_field(given, "augmented")(weights)), flatten(augmented_gradient(given, weights))
    )
    inside = gradient_field(given, "equivariant")(weights)
    assert float(equivariant_split(given.network, inside).total_residual) < ROUNDING
    averaged = gradient_field(given, "feature-averaged")(weights)
    assert torch.allclose(flatten(averaged), flatten(feature_averaged_gradient(given, weights)))
    penalised = gradient_field(given, "augmented", penalty=0.3)(weights)
    expected = augmented_gradient(given, weights)
    off = residual(given.network, weights)
    assert torch.allclose(flatten(penalised), flatten(expected) + 0.6 * flatten(off))
    slope = gradients_module.gradient_of(lambda a: 0.3 * norm(residual(given.network, a)) ** 2, weights)
    assert torch.allclose(flatten(penalty_gradient(given, weights, 0.3)), flatten(slope))
    draw = partial(gradient_field, given, "augmented", passes=3)
    first, second = draw(generator=seeded(5)), draw(generator=seeded(5))
    assert torch.equal(flatten(first(weights)), flatten(second(weights)))
    assert not torch.equal(flatten(first(weights)), flatten(draw(generator=seeded(5))(weights)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "augmnted"}, "did you mean 'augmented'"),
        ({"strategy": "nominal", "penalty": -1.0}, "penalty of 0 or more, got -1.0"),
        ({"strategy": "augmented", "passes": 3}, "expected a generator"),
        ({"strategy": "nominal", "passes": 3, "generator": seeded(0)}, "strategy augmented together"),
    ],
)
def test_bad_fields_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        gradient_field(problem("C5"), **options)


def test_one_pass_has_no_error():
    given = problem("C5")
    with pytest.raises(InputError, match="at least two passes"):
        monte_carlo_gradient(given, gaussian_weights(given.network, seeded(0)), 1, seeded(0))


def test_every_network_has_a_field():
    for name in networks():
        given = problem(name)
        weights = gaussian_weights(given.network, seeded(1))
        assert float(norm(gradient_field(given, "augmented")(weights))) > 0


def test_layers_of_another_dtype_are_refused():
    given = problem("C5")
    single = [w.float() for w in gaussian_weights(given.network, seeded(0))]
    for function in (nominal_gradient, augmented_gradient, equivariant_gradient, feature_averaged_gradient):
        with pytest.raises(InputError, match="layers and samples of one dtype"):
            function(given, single)
