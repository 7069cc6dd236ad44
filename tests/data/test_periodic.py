from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data import _sectors as sectors
from symscope.data._labelled import mnist_sample
from symscope.data._spline import quarter_turns, spline_matrix
from symscope.data.periodic import OrthogonalRotation, rotation_basis
from symscope.errors import InputError
from tests.tolerances import ROUNDING


def _eye(size: int) -> torch.Tensor:
    return torch.eye(size * size, dtype=torch.float64)


def _quarter(size: int) -> torch.Tensor:
    return _eye(size)[quarter_turns(size)[1]]


def _mirror(size: int) -> torch.Tensor:
    return _eye(size)[torch.arange(size * size).reshape(size, size).flip(-1).reshape(-1)]


def _largest(x: torch.Tensor) -> float:
    return float(x.abs().max())


@given(size=st.integers(1, 9), n=st.integers(1, 24), mirrored=st.booleans())
def test_orthogonal_periodic_and_right_at_quarter_turns(size: int, n: int, mirrored: bool) -> None:
    result = rotation_basis(size, n, mirrored)
    turn = result.matrix(1)
    assert _largest(turn @ turn.T - _eye(size)) < ROUNDING
    assert _largest(torch.linalg.matrix_power(turn, n) - _eye(size)) < 10 * ROUNDING
    quarter = _quarter(size)
    if n % 4 == 0:
        away = torch.linalg.matrix_power(turn, n // 4) - quarter
        assert int(torch.linalg.matrix_rank(away, atol=1e-8)) == result.defect
    elif n % 2 == 0:
        assert _largest(torch.linalg.matrix_power(turn, n // 2) - quarter @ quarter) < 10 * ROUNDING
    if mirrored:
        mirror = _mirror(size)
        assert _largest(mirror @ turn @ mirror @ turn - _eye(size)) < ROUNDING


@given(size=st.integers(1, 12), n=st.sampled_from([4, 8, 12, 16, 20, 24, 40]), mirrored=st.booleans())
def test_defect_is_what_counting_demands(size: int, n: int, mirrored: bool) -> None:
    """Where 8 | n, rot90 x = -x must split into planes (of one even and one odd image each, if mirrored)."""
    quarter, mirror, eye = _quarter(size), _mirror(size), _eye(size)
    minus = (eye - quarter + quarter @ quarter - torch.linalg.matrix_power(quarter, 3)) / 4
    even = round(float((minus @ (eye + mirror) / 2).trace()))
    odd = round(float((minus @ (eye - mirror) / 2).trace()))
    demanded = 0 if n % 8 else abs(even - odd) if mirrored else (even + odd) % 2
    assert rotation_basis(size, n, mirrored).defect == demanded


def test_the_unavoidable_defect_is_the_finest_cosine() -> None:
    size = 6
    away = torch.linalg.matrix_power(rotation_basis(size, 8).matrix(1), 2) - _quarter(size)
    wave = torch.cos(torch.pi * (size - 1) / size * (torch.arange(size).double() + 0.5))
    board = torch.outer(wave, wave).reshape(-1)
    board /= board.norm()
    assert _largest(away - 2 * torch.outer(board, board)) < ROUNDING


def test_powers_in_the_basis_are_powers_of_the_matrix() -> None:
    result = rotation_basis(7, 12)
    for k in (0, 1, 5, 11):
        expected = torch.linalg.matrix_power(result.matrix(1), k)
        assert _largest(result.matrix(k) - expected) < ROUNDING


def _objective(matrices: list[torch.Tensor], targets: list[torch.Tensor]) -> float:
    return float(sum((a - b).square().sum() for a, b in zip(matrices, targets, strict=True)))


def _snapped(size: int, n: int) -> torch.Tensor:
    """The plain construction: polar factor of one spline step, eigenvalues moved to n-th roots of unity."""
    u, _, v = torch.linalg.svd(spline_matrix(size, 360 / n))
    values, vectors = torch.linalg.eig(u @ v)
    vectors = torch.linalg.qr(vectors)[0]
    roots = torch.polar(
        torch.ones(len(values), dtype=torch.float64),
        (values.angle() * n / (2 * torch.pi)).round() * 2 * torch.pi / n,
    )
    return ((vectors * roots) @ vectors.mH).real


@pytest.mark.parametrize("n", [8, 16])
def test_nearer_to_the_spline_rotations_than_plain_snapping(n: int) -> None:
    size = 12
    targets = [spline_matrix(size, 360 * k / n) for k in range(n)]
    ours = [rotation_basis(size, n).matrix(k) for k in range(n)]
    plain = [torch.linalg.matrix_power(_snapped(size, n), k) for k in range(n)]
    assert _objective(ours, targets) < 0.7 * _objective(plain, targets)


def test_no_small_change_comes_nearer() -> None:
    """The construction is a local minimum: random conjugations by near-identity symmetric turns lose."""
    size, n = 5, 12
    generator = torch.Generator().manual_seed(0)
    targets = [spline_matrix(size, 360 * k / n) for k in range(n)]
    ours = [rotation_basis(size, n).matrix(k) for k in range(n)]
    best = _objective(ours, targets)
    quarter, mirror = _quarter(size), _mirror(size)
    for _ in range(20):
        skew = torch.randn(size * size, size * size, dtype=torch.float64, generator=generator)
        skew = skew - skew.T
        for move, power in ((quarter, 1), (quarter @ quarter, 1), (mirror, 1)):
            skew = (skew + torch.linalg.matrix_power(move, power) @ skew @ move.T) / 2
        small = torch.linalg.matrix_exp(1e-2 * skew / skew.norm())
        assert _objective([small @ r @ small.T for r in ours], targets) > best - 1e-7 * best


@pytest.mark.parametrize(("size", "n"), [(6, 12), (7, 16), (5, 7)])
def test_every_sweep_comes_nearer(size: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [spline_matrix(size, 360 * k / n) for k in range(n)]
    distances = []
    for sweeps in (0, 1, 2, 5, 20):
        monkeypatch.setattr(sectors, "SWEEPS", sweeps)
        result = rotation_basis.__wrapped__(size, n, True)
        distances.append(_objective([result.matrix(k) for k in range(n)], targets))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < distances[0]


def test_digits_turn_as_splines_turn_them() -> None:
    digits = mnist_sample().per_class(2, seed=0).x.reshape(-1, 28, 28)
    turned = OrthogonalRotation(8)(torch.tensor(1), digits).flatten(1)
    spline = digits.flatten(1) @ spline_matrix(28, 45.0).T
    away = (turned - spline).norm(dim=1) / digits.flatten(1).norm(dim=1)
    assert 0.04 < float(away.mean()) < 0.10  # splines miss their own inverse by 0.08
    assert torch.allclose(turned.norm(dim=1), digits.flatten(1).norm(dim=1), rtol=ROUNDING, atol=0)


def test_refuses_sizes_and_steps_it_cannot_serve() -> None:
    with pytest.raises(InputError, match=r"up to 64x64.*got 65x65. Use method='spline'"):
        rotation_basis(65, 8)
    for steps in (0, 10**30):
        with pytest.raises(InputError, match="n: expected an integer from 1 to 4096, got"):
            rotation_basis(6, steps)
    with pytest.raises(InputError, match=r"64x64 images by 1024 frequencies.*take fewer steps"):
        rotation_basis(64, 1024)
    with pytest.raises(InputError, match="expected square images"):
        OrthogonalRotation(8)(torch.tensor(1), torch.zeros(2, 3))
    with pytest.raises(InputError, match="expected finite pixels"):
        OrthogonalRotation(8)(torch.tensor(1), torch.full((3, 3), float("nan")))
