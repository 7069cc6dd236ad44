from __future__ import annotations

import pytest
import torch

from symscope.data._sectors import climb, image_sectors, share
from symscope.data._spline import quarter_turns, spline_matrix
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_sectors_are_eigenspaces_and_fill_everything(size: int, m: int) -> None:
    sources = quarter_turns(size)[4 // m % 4]
    mirror = torch.arange(size * size).reshape(size, size).flip(-1).reshape(-1)
    everything = []
    for sector in image_sectors(size, m):
        assert torch.equal(sector.even[mirror], sector.even)
        assert torch.equal(sector.odd[mirror], -sector.odd)
        if sector.complex:
            vectors = sector.even + 1j * sector.odd
            assert (
                float((vectors[sources] - 1j * vectors).abs().max()) < ROUNDING if len(vectors) > 1 else True
            )
            everything += [sector.even * 2**0.5, sector.odd * 2**0.5]
        else:
            sign = 1 if sector.k == 0 else -1
            assert torch.equal(sector.even[sources], sign * sector.even)
            assert torch.equal(sector.odd[sources], sign * sector.odd)
            everything += [sector.even, sector.odd]
    basis = torch.cat(everything, dim=1)
    assert basis.shape == (size * size, size * size)
    assert torch.allclose(basis.T @ basis, torch.eye(size * size, dtype=torch.float64), atol=ROUNDING)


def test_seen_matrices_are_the_symmetrised_turn() -> None:
    size, angle = 5, 0.7
    turn = spline_matrix(size, 30.0)
    mirror = torch.eye(25, dtype=torch.float64)[torch.arange(25).reshape(5, 5).flip(-1).reshape(-1)]
    symmetric = (turn + mirror @ turn.T @ mirror) / 2
    for sector in image_sectors(size, 4):
        basis = (
            sector.even + 1j * sector.odd
            if sector.complex
            else torch.cat([sector.even.cdouble(), 1j * sector.odd], dim=1)
        )
        dense = basis.mH @ symmetric.cdouble() @ basis
        dense = torch.polar(torch.tensor(1.0).double(), torch.tensor(-angle).double()) * dense
        cosine, sine = sector.seen(turn)
        expected = (dense + dense.mH) / 2
        result = (
            torch.cos(torch.tensor(angle).double()) * cosine + torch.sin(torch.tensor(angle).double()) * sine
        )
        assert float((result - expected).abs().max()) < ROUNDING


def test_shares_fill_the_sector_and_climbing_keeps_it_orthonormal() -> None:
    sector = image_sectors(6, 4)[2]
    parts = {1: torch.diag(torch.arange(9.0).double() / 9), 5: torch.diag(1 - torch.arange(9.0).double() / 9)}
    counts = share(sector, parts, [1, 5], [])
    assert counts == {1: (4, 4), 5: (5, 5)}
    even, odd = climb(sector, parts, [1, 5], [], counts)
    both = torch.cat([even, odd], dim=1)
    assert torch.allclose(both.T @ both, torch.eye(18, dtype=torch.float64), atol=ROUNDING)
    # frequency 1 takes the four directions where its matrix is largest
    assert torch.allclose(
        even[:, :4].T @ sector.even[:, 5:] * 2**0.5 @ sector.even[:, 5:].T @ even[:, :4] * 2**0.5,
        torch.eye(4, dtype=torch.float64),
        atol=1e-6,
    )
