"""Minima of one risk that are none of another."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics import drift, stability
from symscope.groups import cyclic, permutation
from symscope_papers.dynamics.counterexamples.problems import (
    augmented_not_nominal,
    equivariant_not_augmented,
    identical_neurons,
    minimum_of,
    one_sample,
    quadratic_problem,
)


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_the_first_of_the_paper(n):
    result = augmented_not_nominal(n)
    assert result.nominal.lowest == pytest.approx(-1)
    assert result.augmented.lowest == pytest.approx(1)  # the mean of U over S_n is the identity
    assert (result.nominal.strict, result.augmented.strict, result.equivariant.strict) == (False, True, True)


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_the_second_of_the_paper(n):
    result = equivariant_not_augmented(n)
    assert result.augmented.lowest == pytest.approx(-1)
    assert result.equivariant.lowest == pytest.approx(1)
    assert (result.nominal.strict, result.augmented.strict, result.equivariant.strict) == (False, False, True)
    assert stability(result.problem, result.weights).stabilising_penalty == pytest.approx(0.5)


def test_one_sample_needs_augmentation():
    result = one_sample(6)
    assert result.nominal.lowest == pytest.approx(0, abs=1e-12)
    x = result.problem.x[0]
    spectrum = torch.fft.fft(x).abs() ** 2 / 6  # the mean over shifts of x x^T is circulant
    assert result.augmented.lowest == pytest.approx(float(spectrum.min()))
    assert result.augmented.strict
    assert not result.nominal.strict


def test_identical_neurons_part():
    result = identical_neurons()
    assert result.equivariant.strict
    assert not result.augmented.strict
    assert result.augmented.lowest < -0.01
    ends = stability(result.problem, result.weights)
    assert ends.verdict == "unstable"
    assert ends.outside.lowest == pytest.approx(result.augmented.lowest)
    off = [1e-6 * part for part in ends.outside.lowest_direction]
    grown = drift(result.problem, result.weights, off, [0.0, 50.0, 100.0])
    assert grown.rate() == pytest.approx(ends.growth_rate, rel=1e-3)


def test_forms_become_risks():
    a = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    form = a + a.T
    at = torch.randn(1, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    problem = quadratic_problem(form, permutation(cyclic(3)))
    result = minimum_of(problem, [at])
    assert result.gradient == pytest.approx(float(torch.linalg.vector_norm(at @ form)))
    assert result.lowest == pytest.approx(float(torch.linalg.eigvalsh(form)[0]))
    with pytest.raises(InputError, match="symmetric form"):
        quadratic_problem(a, permutation(cyclic(3)))
