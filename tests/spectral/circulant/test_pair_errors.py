"""Pair averages and the one-versus-many rule against the pairs' own matrices, one by one."""

from __future__ import annotations

import inspect

import pytest
import torch

from symscope import InputError
from symscope.groups import cyclic, dihedral, direct_product, from_table
from symscope.spectral import profile_gram
from symscope.spectral.circulant import (
    circulant_row,
    circulant_spectrum,
    mean_pair_error,
    one_versus_many,
    pair_errors,
    pair_spectra,
    spectral_error,
)
from symscope.spectral.circulant._pair_errors import powers
from tests.spectral.orbit_problems import random_profile
from tests.tolerances import LEAVE_OUT


def interleaved(profile: torch.Tensor, s: int, t: int) -> torch.Tensor:
    n = profile.shape[2]
    gram = profile_gram(profile[[s, t]][:, [s, t]], cyclic(n))
    order = torch.arange(2 * n).reshape(2, n).T.flatten()
    return gram[order][:, order]


@pytest.mark.parametrize("n", [1, 4, 5])
def test_pairs_are_circularised_as_their_own_matrices_are(n):
    profile = random_profile(cyclic(n), 4, n)
    errors = pair_errors(profile, cyclic(n), 0.05)
    for s in range(4):
        for t in range(4):
            if s == t:
                assert bool(errors[s, t].isnan())
                continue
            spectrum = circulant_spectrum(circulant_row(interleaved(profile, s, t)))
            torch.testing.assert_close(
                pair_spectra(profile, cyclic(n), s)[t], spectrum, rtol=0, atol=LEAVE_OUT
            )
            torch.testing.assert_close(errors[s, t], spectral_error(spectrum, 0.05), rtol=0, atol=LEAVE_OUT)


def test_two_classes_are_averaged_over_the_pairs_across_them():
    errors = pair_errors(random_profile(cyclic(3), 5, 1), cyclic(3), 0.0)
    classes = torch.tensor([2, 9, 2, 9, 9])
    across = [errors[s, t] for s in (0, 2) for t in (1, 3, 4)]
    torch.testing.assert_close(mean_pair_error(errors, classes), torch.stack(across).mean())


def test_an_orbit_is_right_if_it_wins_against_every_class_on_average():
    generator = torch.Generator().manual_seed(0)
    errors = 2 * torch.rand(9, 9, generator=generator, dtype=torch.float64)
    errors.fill_diagonal_(float("nan"))
    classes = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2])
    result = one_versus_many(errors, classes)
    for s in range(9):
        wins = [
            sum(1 - float(errors[s, t]) for t in range(9) if int(classes[t]) == other) > 0
            for other in range(3)
            if other != int(classes[s])
        ]
        assert bool(result.correct[s]) == all(wins)
    assert result.accuracy == pytest.approx(float(result.correct.double().mean()))
    assert 0 < result.accuracy < 1
    assert result.class_accuracy.tolist() == [
        float(result.correct[classes == c].double().mean()) for c in range(3)
    ]


def test_bad_input_is_refused():
    profile = random_profile(dihedral(3), 2, 0)
    with pytest.raises(InputError, match="needs a cyclic group, got D3"):
        pair_errors(profile, dihedral(3), 0.0)
    profile = random_profile(cyclic(3), 3, 0)
    with pytest.raises(InputError, match="sample from 0 to 2"):
        pair_spectra(profile, cyclic(3), 3)
    with pytest.raises(InputError, match=r"expected a profile \[samples, samples, 4 elements of C4\]"):
        pair_spectra(profile, cyclic(4), 0)
    with pytest.raises(InputError, match="ridge: expected a finite number"):
        pair_errors(profile, cyclic(3), -1.0)
    errors = pair_errors(profile, cyclic(3), 0.0)
    with pytest.raises(InputError, match="over two classes, got 3"):
        mean_pair_error(errors, torch.arange(3))
    with pytest.raises(InputError, match="two classes or more"):
        one_versus_many(errors, torch.zeros(3, dtype=torch.int64))
    with pytest.raises(InputError, match="one class per sample, 3; got 2"):
        one_versus_many(errors, torch.arange(2))


def test_any_cyclic_group_is_followed_along_its_powers():
    profile = random_profile(cyclic(5), 3, 0)
    torch.testing.assert_close(
        pair_errors(profile, from_table(cyclic(5).table), 0.1),
        pair_errors(profile, cyclic(5), 0.1),
        equal_nan=True,
        rtol=0,
        atol=0,
    )
    product = direct_product(cyclic(2), cyclic(3))
    along = powers(product)
    assert [int(product.table[along[k], along[1]]) for k in range(6)] == along.roll(-1).tolist()
    six = random_profile(cyclic(6), 2, 1)
    other = torch.empty_like(six)
    other[:, :, along] = six  # the same profile, its elements numbered as the product does
    assert torch.equal(pair_spectra(other, product, 0), pair_spectra(six, cyclic(6), 0))
    with pytest.raises(InputError, match="needs a cyclic group, got C2xC2"):
        powers(direct_product(cyclic(2), cyclic(2)))


def test_pairs_need_two_orbits():
    with pytest.raises(InputError, match="two orbits or more, got one"):
        pair_errors(random_profile(cyclic(4), 1, 0), cyclic(4), 0.0)
    # the checks of the test suite would stop these earlier
    with pytest.raises(InputError, match=r"one for every two samples.*got shape \(3, 2\)"):
        inspect.unwrap(one_versus_many)(torch.rand(3, 2), torch.tensor([0, 1, 1]))
