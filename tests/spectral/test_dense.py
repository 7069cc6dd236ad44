"""Leave-out residuals from one factorisation against retraining on the rest."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.errors import SingularKernelError
from symscope.groups import cyclic
from symscope.spectral import leave_out, leave_out_residual, precision
from symscope.spectral.dense import leave_one_out_residuals, regression
from tests.spectral.problems import circulant, random_gram, random_labels
from tests.tolerances import LEAVE_OUT


@given(
    st.integers(3, 12),
    st.integers(0, 99),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([(), (2,), (2, 3)]),
    st.data(),
)
def test_residuals_are_those_of_retraining_without_the_missing_points(n, seed, ridge, shape, data):
    gram, labels = random_gram(n, seed), random_labels(n, seed, *shape)
    missing = torch.tensor(
        data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 1, unique=True))
    )
    there = [i for i in range(n) if i not in missing.tolist()]
    k, y = gram.numpy(), labels.numpy()
    weights = np.linalg.solve(
        k[np.ix_(there, there)] + ridge * np.eye(len(there)), y[there].reshape(len(there), -1)
    )
    retrained = (k[np.ix_(missing.tolist(), there)] @ weights).reshape(len(missing), *shape)

    residual = leave_out_residual(precision(gram, ridge), labels, missing)

    np.testing.assert_allclose(residual, y[missing.tolist()] - retrained, rtol=0, atol=LEAVE_OUT)
    np.testing.assert_allclose(regression(gram, labels, missing, ridge), retrained, rtol=0, atol=LEAVE_OUT)


def test_leave_one_out_is_leave_out_of_each_point_alone():
    gram, labels = random_gram(7, 3), random_labels(7, 3, 2)
    inverse = precision(gram, 0.01)
    alone = torch.cat([leave_out_residual(inverse, labels, torch.tensor([i])) for i in range(7)])
    torch.testing.assert_close(leave_one_out_residuals(inverse, labels), alone, rtol=0, atol=LEAVE_OUT)


def test_regression_never_looks_at_the_missing_labels():
    gram, labels, missing = random_gram(6, 1), random_labels(6, 1), torch.tensor([4, 1])
    other = labels.clone()
    other[missing] = 1e6
    assert torch.equal(regression(gram, labels, missing, 0.1), regression(gram, other, missing, 0.1))


def test_residuals_are_differentiable_in_the_kernel():
    gram = random_gram(5, 2).requires_grad_()
    residual = leave_out_residual(precision(gram, 0.1), random_labels(5, 2), torch.tensor([0, 3])).sum()
    (gradient,) = torch.autograd.grad(residual, gram)
    step = 1e-6
    moved = gram.detach().clone()
    moved[1, 2] += step
    moved[2, 1] += step
    after = leave_out_residual(precision(moved, 0.1), random_labels(5, 2), torch.tensor([0, 3])).sum()
    assert float((after - residual.detach()) / step) == pytest.approx(
        float(gradient[1, 2] + gradient[2, 1]), rel=1e-4
    )


@pytest.mark.parametrize(
    ("gram", "ridge", "message"),
    [
        (torch.ones(3, 3, dtype=torch.float64), 0.0, "singular to rounding"),
        (torch.eye(3, dtype=torch.float64), -1.0, "finite number of at least 0"),
        (torch.eye(3, dtype=torch.float64), float("nan"), "finite number of at least 0"),
        (torch.tensor([[1.0, 0.9], [0.1, 1.0]], dtype=torch.float64), 0.0, "is symmetric"),
        (torch.tensor([[1.0, float("nan")], [float("nan"), 1.0]], dtype=torch.float64), 0.0, "not finite"),
    ],
)
def test_bad_matrices_are_refused(gram, ridge, message):
    with pytest.raises(InputError, match=message):
        precision(gram, ridge)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ([], "is empty"),
        ([0, 0], "named twice"),
        ([3], "numbered 0 .. 2"),
        ([-1], "numbered 0 .. 2"),
        ([0, 1, 2], "all 3"),
    ],
)
def test_bad_missing_sets_are_refused(missing, message):
    positions = torch.tensor(missing, dtype=torch.int64)
    with pytest.raises(InputError, match=message):
        leave_out_residual(torch.eye(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64), positions)
    with pytest.raises(InputError, match=message):
        regression(torch.eye(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64), positions, 0.0)


def test_labels_must_match_and_be_finite():
    inverse = torch.eye(3, dtype=torch.float64)
    with pytest.raises(InputError, match="one label per point"):
        leave_one_out_residuals(inverse, torch.ones(4, dtype=torch.float64))
    with pytest.raises(InputError, match="finite"):
        leave_one_out_residuals(inverse, torch.full((3,), float("inf"), dtype=torch.float64))
    with pytest.raises(InputError, match="precision: expected"):
        leave_one_out_residuals(inverse * float("nan"), torch.ones(3, dtype=torch.float64))
    with pytest.raises(InputError, match="positive diagonal"):
        leave_one_out_residuals(0 * inverse, torch.ones(3, dtype=torch.float64))


@given(st.integers(0, 400))
def test_singular_matrices_are_refused_whatever_rounding_makes_of_them(seed):
    generator = torch.Generator().manual_seed(seed)
    low = torch.randn(7, 3, generator=generator, dtype=torch.float64)
    twice = torch.randn(6, 9, generator=generator, dtype=torch.float64)[[0, 1, 2, 2, 3, 4, 5]]
    for gram in (low @ low.T, twice @ twice.T):
        with pytest.raises(SingularKernelError, match="singular to rounding"):
            precision(gram, 0.0)
        assert precision(gram, 0.1).isfinite().all()


def test_labels_and_positions_of_any_other_kind():
    gram = random_gram(5, 0)
    # the checks of the test suite would stop all of this earlier
    residual, one_out, trained, inverted = map(
        inspect.unwrap, (leave_out_residual, leave_one_out_residuals, regression, precision)
    )
    inverse, whole = precision(gram, 0.1), torch.tensor([1, -1, 2, 0, 3])
    missing = torch.tensor([1, 4])
    plain = residual(inverse, whole.double(), missing)
    for labels in (whole, whole.float()):
        assert torch.equal(residual(inverse, labels, missing), plain)
        assert one_out(inverse, labels).shape == (5,)
        assert torch.allclose(whole[missing] - trained(gram, labels, missing, 0.1), plain)
    for labels in (whole + 0j, whole / 0.0):
        with pytest.raises(InputError, match="finite real numbers"):
            residual(inverse, labels, missing)
    for bad, message in (
        (torch.tensor([1.0]), "whole numbers in one row"),
        (torch.tensor([[1]]), "whole numbers in one row"),
        (torch.tensor([True, False, False, False, False]), "got a mask"),
    ):
        with pytest.raises(InputError, match=message):
            residual(inverse, whole, bad)
    for bad in (torch.ones(4), torch.eye(3).half(), torch.eye(3) + 0j):
        with pytest.raises(InputError, match="a kernel matrix is"):
            inverted(bad, 0.0)
    with pytest.raises(InputError, match="got '1'"):
        inverted(gram, "1")


def test_matrices_that_no_kernel_has_are_told_from_singular_ones():
    row = torch.tensor([1.0, 2.0, 0.0, 2.0], dtype=torch.float64)  # eigenvalues 5, 1, 1, -3
    with pytest.raises(InputError, match="not positive semi-definite: it has the eigenvalue -3"):
        precision(circulant(row), 0.0)
    missing = torch.tensor([[True, False, False, False]])
    noisy = torch.tensor([1.0, 1.0, 1.0 + 3e-12, 1.0], dtype=torch.float64)  # blocks of 3e-12: rounding
    with pytest.raises(SingularKernelError, match="singular to rounding"):
        leave_out(noisy[None, None], torch.ones(1, dtype=torch.float64), missing, cyclic(4), 0.0)
    with pytest.raises(InputError, match=r"block of irrep k=2 is not positive semi-definite.*-3"):
        leave_out(row[None, None], torch.ones(1, dtype=torch.float64), missing, cyclic(4), 0.0)


def test_lists_arrays_and_other_matrices_are_refused():
    gram = random_gram(4, 0)
    # the checks of the test suite would stop all of this earlier
    residual = inspect.unwrap(leave_out_residual)
    inverse, labels = precision(gram, 0.1), torch.ones(4, dtype=torch.float64)
    for bad in (inverse[:2], inverse[0], inverse.long()):
        with pytest.raises(InputError, match="inverse of a kernel matrix"):
            residual(bad, labels[: len(bad)], torch.tensor([0]))
