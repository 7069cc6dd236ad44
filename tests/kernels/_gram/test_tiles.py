"""Tiles cover the matrix once, keep to the budget, and hold the kernel's own numbers."""

from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.kernels._gram._tiles import (
    Arithmetic,
    Grid,
    Tile,
    mirrored_blocks,
    place,
    tile_array,
    tile_bytes,
    tile_sides,
    tile_values,
)
from symscope.kernels._kernel import Kernel
from tests.kernels.toy import entry_bytes, loop, points, polynomial, polynomial_blocks, polynomial_diagonal
from tests.tolerances import ROUNDING

CPU = Arithmetic(torch.device("cpu"), torch.float64)


@given(
    n1=st.integers(1, 40),
    n2=st.integers(1, 40),
    rows=st.integers(1, 50),
    columns=st.integers(1, 50),
    symmetric=st.booleans(),
)
def test_every_entry_is_covered_exactly_once(n1, n2, rows, columns, symmetric):
    grid = Grid((n1, n1 if symmetric else n2), (rows, columns), symmetric)
    covered = torch.zeros(grid.shape)
    for tile in grid.tiles:
        assert tile.bottom - tile.top <= rows
        assert tile.right - tile.left <= (rows if symmetric else columns)
        ones = torch.ones(tile.bottom - tile.top, tile.right - tile.left)
        before = covered.clone()
        place(covered, tile, ones, symmetric)
        assert (covered - before).sum() == tile.entries * (
            2 if symmetric and tile.rows != tile.columns else 1
        )
    assert (covered == 1).all()
    assert grid.entries == sum(tile.entries for tile in grid.tiles)


def test_symmetric_grid_computes_half():
    assert Grid((100, 100), (10, 10), symmetric=True).entries == 55 * 100
    assert Grid((100, 100), (10, 10), symmetric=False).entries == 100 * 100


@given(
    n1=st.integers(1, 3000),
    n2=st.integers(1, 3000),
    budget=st.integers(500, 10**8),
    workers=st.integers(1, 4),
)
def test_tiles_keep_to_the_budget(n1, n2, budget, workers):
    features = (4, 3)
    least = tile_bytes(polynomial, features, CPU, (1, 1)) * workers
    if budget < least:
        with pytest.raises(InputError, match="smallest that would do"):
            tile_sides(polynomial, features, (n1, n2), budget, CPU, workers=workers)
        return
    sides = tile_sides(polynomial, features, (n1, n2), budget, CPU, workers=workers)
    assert 1 <= sides[0] <= n1
    assert 1 <= sides[1] <= n2
    assert tile_bytes(polynomial, features, CPU, sides) * workers <= budget


def test_the_smallest_budget_named_is_enough_and_one_less_is_not():
    need = int(tile_bytes(polynomial, (5,), CPU, (1, 1)))
    assert tile_sides(polynomial, (5,), (9, 9), need, CPU) == (1, 1)
    with pytest.raises(InputError, match=f"memory={need}"):
        tile_sides(polynomial, (5,), (9, 9), need - 1, CPU)


def test_a_tile_asked_for_must_fit():
    with pytest.raises(InputError, match="or use a smaller tile"):
        tile_sides(polynomial, (5,), (100, 100), 1000, CPU, tile=50)
    assert tile_sides(polynomial, (5,), (30, 20), 10**6, CPU, tile=50) == (30, 20)
    with pytest.raises(InputError, match="at least 1, got 0"):
        tile_sides(polynomial, (5,), (30, 20), 10**6, CPU, tile=0)


def test_few_rows_get_wide_tiles():
    rows, columns = tile_sides(polynomial, (5,), (2, 100_000), 10**9, CPU)
    assert rows == 2
    assert columns > 50_000


def test_diagonal_tile_is_lower_half_and_own_diagonal():
    def upper_wrong(x1, x2):
        block = polynomial_blocks(x1, x2)
        return block + block.triu() * 1e3  # above and on the diagonal

    x = points(6, 3)
    tile = tile_values(Kernel("k", upper_wrong, polynomial_diagonal, entry_bytes), x, None, CPU)
    assert torch.equal(tile, tile.mT)
    torch.testing.assert_close(tile, loop(x, x), rtol=ROUNDING, atol=0)


def test_arrays_give_the_same_tile_even_when_read_only():
    x, y = points(4, 3), points(5, 3, seed=1)
    rows = x.numpy().copy()
    rows.flags.writeable = False
    tile = tile_array(pickle.loads(pickle.dumps(polynomial)), rows, y.numpy(), CPU)
    assert torch.equal(torch.from_numpy(tile), tile_values(polynomial, x, y, CPU))


def test_mirrored_batches():
    blocks, diagonal = points(3, 4, 4), points(3, 4, seed=2)
    whole = mirrored_blocks(blocks, diagonal)
    assert torch.equal(whole, whole.mT)
    assert torch.equal(whole.tril(-1), blocks.tril(-1))
    assert torch.equal(whole.diagonal(dim1=1, dim2=2), diagonal)


def test_a_kernel_of_the_wrong_shape_is_named():
    bad = Kernel("crooked", lambda a, b: polynomial_blocks(a, b).mT, polynomial_diagonal, entry_bytes)
    with pytest.raises(InputError, match=r"'crooked': blocks gave shape \(1, 5, 4\), not \(1, 4, 5\)"):
        tile_values(bad, points(4, 3), points(5, 3), CPU)


def test_entry_bytes_must_be_a_number():
    bad = Kernel("vague", polynomial_blocks, polynomial_diagonal, lambda s, t: float("nan"))
    with pytest.raises(InputError, match="entry_bytes must be a finite number"):
        tile_sides(bad, (3,), (4, 4), 10**6, CPU)


def test_tile_knows_its_place():
    tile = Tile(1, 3, 2, 7)
    assert (tile.rows, tile.columns, tile.entries) == (slice(1, 3), slice(2, 7), 10)
