from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.errors import InputError
from symscope.groups.compact import so
from symscope.groups.constructions import defining
from symscope.linear import (
    irrep_rates,
    orbit_regression,
    regression_flow,
    second_moments,
    time_to_asymmetry,
    weight_split,
)
from symscope.linear._components import isotypic_components
from tests.linear.problems import BUILDERS, draw, problems, turned
from tests.tolerances import FOURIER, ODE


def problem_of(drawn, labels=None):
    return orbit_regression(second_moments(drawn.x, drawn.y), drawn.rep, labels)


@given(drawn=problems())
def test_asymmetric_rates_are_the_eigenvalues_on_the_kernel_of_the_reynolds_operator(drawn):
    result = problem_of(drawn)
    r = drawn.elements.mean(0)
    _, sizes, v = torch.linalg.svd(r)
    kernel = v[sizes < 0.5].T
    expected = torch.linalg.eigvalsh(kernel.T @ result.k @ kernel)
    scale = float(torch.linalg.matrix_norm(result.k, 2))
    repeats = {part.irrep: part.repeats for part in isotypic_components(drawn.rep)}
    rates = irrep_rates(result)
    ours = [part.rates.repeat_interleave(repeats[part.irrep]) for part in rates if part.asymmetric]
    gathered = torch.cat([*ours, torch.zeros(0, dtype=torch.float64)]).sort().values
    assert (gathered - expected).abs().max() < FOURIER * scale
    assert sum(part.asymmetric for part in rates) == kernel.shape[1]


@given(drawn=problems(equivariant=True))
def test_asymmetric_dimensions_of_equivariant_problems_add_up(drawn):
    rates = irrep_rates(problem_of(drawn, drawn.rep))
    commutant = groups.equivariant_maps(drawn.rep, drawn.rep).dimension
    assert sum(part.asymmetric for part in rates) == drawn.rep.dim**2 - commutant


def test_equivariant_dimensions_of_a_compact_group_add_up():
    group = so(3)
    v = defining(group)
    rep = v + groups.trivial(group)
    x, y = draw(0, 6, 4), draw(1, 6, 3)
    result = orbit_regression(second_moments(x, y), rep, v)
    rates = irrep_rates(result)
    assert sum(part.asymmetric for part in rates) == 12 - 1
    assert [len(part.rates) for part in rates] == [1, 3]
    assert rates[1].rates.max() - rates[1].rates.min() < FOURIER  # Schur: one copy, one rate


@pytest.mark.parametrize("name", ["C5", "S3", "Q8"])
def test_a_component_decays_at_its_own_rate(name):
    rep = turned(BUILDERS[name](), 1)
    x = draw(3, 20, rep.dim)
    result = orbit_regression(second_moments(x, draw(4, 20)), rep)
    solution = regression_flow(result.k, result.c)
    for part, rates in zip(isotypic_components(rep), irrep_rates(result), strict=True):
        if not rates.asymmetric:
            continue
        block = part.basis.T @ result.k @ part.basis
        slow = part.basis @ torch.linalg.eigh(block).eigenvectors[:, 0]
        time = torch.tensor([0.0, 1 / rates.slowest], dtype=torch.float64)
        sizes = weight_split(solution.weights(slow, time), rep).asymmetric.norm(dim=1)
        assert abs(float(sizes[1] / sizes[0]) - math.exp(-1)) < ODE
        assert abs(rates.half_life * rates.slowest - math.log(2)) < ODE


@given(drawn=problems(), level=st.sampled_from([0.5, 0.01, 1e-5]))
def test_the_time_to_a_given_asymmetry_is_when_it_is_reached(drawn, level):
    result = problem_of(drawn)
    solution = regression_flow(result.k, result.c, 1e-10)
    start = weight_split(drawn.start, drawn.rep).asymmetric
    time = time_to_asymmetry(solution, start, level)
    stays = float(solution.undecaying_part(start).norm() / start.norm())
    if math.isinf(time):
        assert stays >= level * 0.999999
        return
    assert stays < level
    there = (
        solution.weights(start, torch.tensor([time], dtype=torch.float64))[0]
        - solution.weights(torch.zeros_like(start), torch.tensor([time], dtype=torch.float64))[0]
    )
    assert abs(float(there.norm() / start.norm()) / level - 1) < 1e-6


def test_what_the_data_do_not_reach_never_decays():
    rep = groups.permutation(groups.cyclic(4))
    x = torch.tensor([[1.0, 2.0, 1.0, 2.0]], dtype=torch.float64)  # nothing at k = 1, 3
    result = orbit_regression(second_moments(x, torch.ones(1, dtype=torch.float64)), rep)
    rates = {part.irrep: part for part in irrep_rates(result)}
    assert rates["k=1, k=3"].slowest == 0
    assert rates["k=1, k=3"].half_life == math.inf
    assert rates["k=2"].slowest == pytest.approx(4.0)
    solution = regression_flow(result.k, result.c)
    asymmetric = weight_split(torch.tensor([3.0, 1.0, -1.0, 1.0], dtype=torch.float64), rep).asymmetric
    stays = solution.undecaying_part(asymmetric)
    assert (stays - torch.tensor([2.0, 0.0, -2.0, 0.0])).abs().max() < FOURIER
    assert time_to_asymmetry(solution, asymmetric, 0.1) == math.inf
    assert time_to_asymmetry(solution, 0 * asymmetric, 0.1) == 0.0


def test_bad_input():
    rep = groups.permutation(groups.cyclic(3))
    result = orbit_regression(second_moments(draw(0, 5, 3), draw(1, 5)), rep.matrices)
    with pytest.raises(InputError, match="feature_representation"):
        irrep_rates(result)
    solution = regression_flow(result.k, result.c)
    with pytest.raises(InputError, match="level: expected a fraction between 0 and 1, got 1"):
        time_to_asymmetry(solution, draw(2, 3), 1.0)
    with pytest.raises(InputError, match=r"expected weights of shape \(3,\), got \(2,\)"):
        time_to_asymmetry(solution, draw(2, 2), 0.5)
