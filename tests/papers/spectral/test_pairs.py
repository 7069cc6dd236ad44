"""Batched errors of pairs against the one-by-one functions of the spectral package."""

from __future__ import annotations

import pytest
import torch
from scipy.ndimage import rotate
from torch import nn

from symscope import InputError, spectral
from symscope.data import mnist_sample
from symscope.errors import SingularKernelError
from symscope.groups import cyclic
from symscope.kernels import infinite_width
from symscope.spectral import circulant, dense, geometry
from symscope_papers.spectral.pairs.errors import (
    check_pairs,
    exact_errors,
    pair_errors,
    pair_profiles,
    pair_spectra,
    projected_errors,
)
from symscope_papers.spectral.pairs.orbits import digit_pairs, orbit_signs, pair_geometry, rotated
from symscope_papers.spectral.symmetrised import mean_set_error, symmetrised_error
from symscope_papers.spectral.wide_networks import mlp_kernels
from tests.tolerances import LEAVE_OUT, ROUNDING


@pytest.fixture(scope="module")
def images():
    data = mnist_sample()
    return data.x[digit_pairs(data, 3, seed=5)]


@pytest.fixture(scope="module", params=[2, 3, 8])
def gram(request, images):
    ntk = infinite_width(nn.Sequential(nn.Linear(784, 9), nn.ReLU(), nn.Linear(9, 1))).ntk
    return ntk.batched(rotated(images, request.param).flatten(1, 2))


@pytest.mark.parametrize(("relative", "other"), [(0.0, None), (1e-3, None), (1e-3, 1e-2)])
def test_batched_errors_are_those_of_the_spectral_package(gram, relative, other):
    n = gram.shape[1] // 2
    result = pair_errors(gram, relative, other)
    order = torch.arange(2 * n).reshape(2, n).T.flatten()
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64)
    masks = torch.zeros(2, 2, n, dtype=torch.bool)
    masks[0, 0, 0] = masks[1, 1, 0] = True
    for i, one in enumerate(gram):
        ridge = relative * float(one.trace())
        spectral_ridge = ridge if other is None else other * float(one.trace())
        interleaved = one[order][:, order]
        spectrum = circulant.circulant_spectrum(circulant.circulant_row(interleaved))
        projection = spectral.projected_profile(one, cyclic(n))
        left = spectral.leave_out(projection.profile, labels, masks, cyclic(n), ridge)
        expected = {
            "exact": symmetrised_error(interleaved, ridge, 0),
            "mean_exact": symmetrised_error(interleaved, ridge, None),
            "spectral": circulant.spectral_error(spectrum, spectral_ridge),
            "projected": mean_set_error(left.residual, left.label, left.sets),
            "lambda_n": spectrum[n],
            "mean_inverse": circulant.inverse_spectrum(spectrum, 0.0).mean(),
        }
        for name, value in expected.items():
            assert float(getattr(result, name)[i]) == pytest.approx(float(value), rel=LEAVE_OUT), name
        assert float(result.departure[i]) == pytest.approx(projection.invariance_error, abs=1e-7)
        nearest = torch.stack([circulant.circulant_row(interleaved).roll(k) for k in range(2 * n)])
        moved = float((interleaved - nearest).norm() / interleaved.norm())
        assert float(result.circularised[i]) == pytest.approx(moved, abs=1e-7)
        torch.testing.assert_close(result.spectra[i], spectrum, rtol=LEAVE_OUT, atol=ROUNDING)


def test_exact_errors_are_regression_without_the_point(gram):
    n = gram.shape[1] // 2
    errors, labels = exact_errors(gram, 1e-4), orbit_signs(n)
    for point in (0, n - 1, n):
        missing = torch.tensor([point])
        prediction = dense.regression(gram[1], labels, missing, 1e-4)
        wanted = float(labels[point] * (labels[point] - prediction[0]))
        assert float(errors[1].flatten()[point]) == pytest.approx(wanted, rel=LEAVE_OUT)


def test_orbits_are_rotations_centred_and_of_unit_norm(images):
    result = rotated(images, 8)
    assert result.shape == (3, 2, 8, 784)
    turned = torch.from_numpy(rotate(images[1, 1].numpy(), 3 * 45, reshape=False, order=3)).flatten()
    turned = turned - turned.mean()
    torch.testing.assert_close(result[1, 1, 3], turned / turned.norm(), rtol=0, atol=1e-9)


def test_pairs_are_of_different_classes_nested_and_varied():
    data = mnist_sample()
    many, few = digit_pairs(data, 1500, seed=2), digit_pairs(data, 20, seed=2)
    classes = data.labels[many]
    assert bool((classes[:, 0] != classes[:, 1]).all())
    assert torch.equal(many[:20], few)
    assert classes.unique(dim=0).shape[0] == 90  # every ordered pair of classes occurs
    assert not torch.equal(few, digit_pairs(data, 20, seed=3))


def test_geometry_is_that_of_the_spectral_package(images):
    points = rotated(images, 6)
    separation, density = pair_geometry(points)
    for i, pair in enumerate(points):
        assert float(separation[i]) == pytest.approx(float(spectral.orbit_separations(pair)[0, 1]))
        assert float(density[i]) == pytest.approx(float(geometry.orbit_densities(pair)[0, 1]))


def test_deeper_networks_have_other_kernels(images):
    points = rotated(images, 3)[0, 0]
    wide = nn.Sequential(nn.Linear(784, 9), nn.ReLU(), nn.Linear(9, 9), nn.ReLU(), nn.Linear(9, 1))
    assert torch.equal(mlp_kernels(2).ntk(points), infinite_width(wide).ntk(points))
    assert not torch.allclose(mlp_kernels(2).ntk(points), mlp_kernels(3).ntk(points), rtol=1e-2)


def test_orbits_in_batches_are_the_same(images, monkeypatch):
    whole = rotated(images, 6)
    monkeypatch.setattr("symscope_papers.spectral.pairs.orbits.LARGEST_BATCH", 6 * 784 * 2)
    assert torch.equal(whole, rotated(images, 6))


def test_bad_input_is_refused(images):
    data = mnist_sample()
    with pytest.raises(InputError, match="pairs: expected an integer of at least 1, got 0"):
        digit_pairs(data, 0, seed=0)
    with pytest.raises(InputError, match="two classes or more"):
        digit_pairs(data.of_classes(3), 2, seed=0)
    with pytest.raises(InputError, match="constant image"):
        rotated(torch.ones(1, 4, 4, dtype=torch.float64), 4)
    with pytest.raises(InputError, match=r"pairs, \[pairs, 2n, 2n\]"):
        check_pairs(torch.eye(3, dtype=torch.float64)[None])
    with pytest.raises(InputError, match="not finite"):
        check_pairs(torch.full((1, 2, 2), float("nan")))
    with pytest.raises(InputError, match="symmetric"):
        check_pairs(torch.tensor([[[1.0, 2.0], [0.0, 1.0]]]))
    with pytest.raises(InputError, match="hidden: expected an integer of at least 1"):
        mlp_kernels(0)
    same = torch.ones(2, 4, 4, dtype=torch.float64)
    with pytest.raises(SingularKernelError, match=r"pairs \[0, 1\] with ridge 0 are singular"):
        exact_errors(same, 0.0)
    with pytest.raises(SingularKernelError, match="zero to rounding with ridge 0; use symscope"):
        projected_errors(pair_profiles(same), 0.0)
    with pytest.raises(InputError, match="ridge: expected a finite number"):
        projected_errors(pair_profiles(same), -1.0)
    bent = torch.rand(1, 2, 2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with pytest.raises(InputError, match="the first row of a symmetric circulant matrix"):
        pair_spectra(bent)
