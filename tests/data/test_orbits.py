from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data._action import Action, custom_action
from symscope.data._orbits import orbits
from symscope.data._rotation import dihedral_action, rotation
from symscope.data.images import flip, shift
from symscope.data.nodes import node_permutation
from symscope.errors import InputError

SAMPLES = torch.randn(3, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([7, 2, 7])
SYMMETRIC = torch.tensor([[1.0, 2.0], [2.0, 1.0]])  # kept by a half turn


@given(
    action=st.sampled_from(
        [
            rotation(4),
            rotation(8, "orthogonal"),
            dihedral_action(4),
            shift(2),
            node_permutation(groups.symmetric(4)),
        ]
    ),
    g=st.integers(0, 7),
)
def test_acting_on_orbits_permutes_their_points(action: Action, g: int) -> None:
    """g (h x) = (gh) x, so acting on a flattened orbit is the same as renumbering its elements."""
    g = g % action.group.order
    result = orbits(SAMPLES, action)
    moved = action.act(g, result.points)
    assert torch.allclose(moved, result.points[:, action.group.table[g]], atol=1e-12)
    flat = result.flat()
    back = torch.empty_like(result.points)
    back[flat.samples, flat.elements] = flat.points
    assert torch.equal(back, result.points)
    assert torch.equal(result.samples, result.points[:, 0])


def test_points_labels_and_order() -> None:
    result = orbits(SAMPLES, rotation(4), LABELS)
    flat = result.flat()
    for row in range(12):
        s, g = divmod(row, 4)
        assert torch.equal(flat.points[row], torch.rot90(SAMPLES[s], g))
        assert (int(flat.samples[row]), int(flat.elements[row])) == (s, g)
    assert flat.labels is not None
    assert flat.labels.tolist() == [7] * 4 + [2] * 4 + [7] * 4
    mixed = result.leave_out(1, samples=[2]).flat(interleaved=True)
    for row in range(12):
        g, s = divmod(row, 3)
        assert torch.equal(mixed.points[row], torch.rot90(SAMPLES[s], g))
        assert (int(mixed.samples[row]), int(mixed.elements[row])) == (s, g)
        assert bool(mixed.missing[row]) == ((s, g) == (2, 1))
    assert mixed.labels is not None
    assert mixed.labels.tolist() == [7, 2, 7] * 4


def test_interleaved_rotated_digits_are_the_reference_inputs() -> None:
    """Inputs of stored kernels: pairs of digits, eight spline rotations, centred, unit norm, interleaved."""
    path = Path(__file__).parents[1] / "kernels" / "fixtures" / "mlp_mnist_rotations.npz"
    with np.load(path, allow_pickle=False) as stored:
        expected = torch.from_numpy(stored["x"])
    pair = expected[0].reshape(-1, 28, 28)[:2]
    flat = orbits(pair, rotation(8)).flat(interleaved=True).points
    # quarter turns commute with centring and scaling; other angles do not (zero outside the image)
    for row in (4, 5, 8, 9, 12, 13):
        assert torch.allclose(flat[row].reshape(-1), expected[0].reshape(16, -1)[row], atol=1e-12)


def test_free_and_not_free() -> None:
    assert orbits(SAMPLES, rotation(4)).is_free
    result = orbits(torch.stack([SYMMETRIC, torch.tensor([[1.0, 2.0], [3.0, 4.0]])]), rotation(4))
    assert not result.is_free
    assert result.free.tolist() == [False, True]
    assert [kept.tolist() for kept in result.stabilisers] == [[0, 2], [0]]
    assert result.closed.tolist() == [True, True]
    with pytest.raises(InputError, match=r"1 of 2 are not: sample 0 is kept by the subgroup {e, r\^2}.*take"):
        result.require_free()
    rest = result.take(result.free)
    assert rest.require_free() is rest
    assert rest.points.shape == (1, 4, 2, 2)
    assert rest.stabilisers[0].tolist() == [0]


def test_many_bad_samples_are_counted_not_listed() -> None:
    result = orbits(SYMMETRIC.expand(9, 2, 2), rotation(4))
    with pytest.raises(InputError, match=r"9 of 9 are not.*and 4 more"):
        result.require_free()


def test_near_symmetry_that_is_no_subgroup_is_said() -> None:
    """A coarse tolerance keeps a sample by small turns only: the message must not call that a stabiliser."""
    column = torch.arange(24, dtype=torch.float64)
    wave = 2 + torch.cos(2 * torch.pi * column / 24)
    result = orbits(wave.expand(1, 1, 24), shift(24), tolerance=0.15)
    assert not bool(result.closed[0])
    assert 1 in result.stabilisers[0].tolist()
    with pytest.raises(
        InputError, match="not closed under multiplication, so the action is only approximate"
    ):
        result.require_free()


def test_leave_out() -> None:
    result = orbits(SAMPLES, flip(), LABELS)
    assert result.leave_out().missing.tolist() == [[True, False]] * 3
    assert result.leave_out(1, samples=[1]).missing.tolist() == [
        [False, False],
        [False, True],
        [False, False],
    ]
    assert result.leave_out(1, classes=[7]).missing.tolist() == [[False, True], [False, False], [False, True]]
    twice = result.leave_out(0, samples=[0]).leave_out(1, samples=[1])
    assert twice.missing.tolist() == [[True, False], [False, True], [False, False]]
    assert not bool(result.missing.any())


def test_take_keeps_everything_together() -> None:
    result = orbits(SAMPLES, flip(), LABELS).leave_out(1, samples=[2]).take([2, 0])
    assert torch.equal(result.samples, SAMPLES[[2, 0]])
    assert result.labels is not None
    assert result.labels.tolist() == [7, 7]
    assert result.missing.tolist() == [[False, True], [False, False]]


def test_given_missing_mask_is_kept() -> None:
    missing = torch.tensor([[True, False], [False, False], [False, True]])
    assert torch.equal(orbits(SAMPLES, flip(), missing=missing).missing, missing)


def test_integers_and_single_precision() -> None:
    whole = orbits(torch.arange(8).reshape(2, 2, 2), rotation(4))
    assert whole.points.dtype == torch.int64
    assert whole.tolerance == 0.0
    single = orbits(SAMPLES.float(), rotation(8))
    assert single.points.dtype == torch.float32
    assert single.is_free


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(0, 4, 4), r"expected samples \[m, ...\] with 2 axes each and m >= 1.*\(0, 4, 4\)"),
        (torch.zeros(4, 4), r"got shape \(4, 4\)"),
        (torch.zeros(2, 0, 0), r"got shape \(2, 0, 0\)"),
        (torch.zeros(2, 3, 4), "expected square images"),
    ],
)
def test_bad_samples(x: torch.Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        orbits(x, rotation(4))


def test_nan_pixels() -> None:
    x = SAMPLES.clone()
    x[1, 2, 3] = torch.nan
    with pytest.raises(InputError, match=r"samples: expected finite numbers.*\(1, 2, 3\)"):
        orbits(x, flip())


def test_bad_labels_mask_tolerance() -> None:
    with pytest.raises(InputError, match=r"expected one label per sample, shape \(3,\), got shape \(2,\)"):
        orbits(SAMPLES, flip(), LABELS[:2])
    with pytest.raises(InputError, match="labels: expected finite"):
        orbits(SAMPLES, flip(), torch.tensor([1.0, torch.nan, 2.0]))
    with pytest.raises(InputError, match=r"missing mask of booleans .* = \(3, 2\), got torch.bool \(2, 3\)"):
        orbits(SAMPLES, flip(), missing=torch.zeros(2, 3, dtype=torch.bool))
    with pytest.raises(InputError, match=r"missing mask of booleans.*got torch.int64"):
        orbits(SAMPLES, flip(), missing=torch.zeros(3, 2, dtype=torch.int64))
    with pytest.raises(InputError, match="every point is marked missing"):
        orbits(SAMPLES, flip(), missing=torch.ones(3, 2, dtype=torch.bool))
    for tolerance in (-1e-3, float("nan")):
        with pytest.raises(InputError, match="expected a tolerance of 0 or more"):
            orbits(SAMPLES, flip(), tolerance=tolerance)


def test_bad_choices() -> None:
    result = orbits(SAMPLES, flip(), LABELS)
    with pytest.raises(InputError, match=r"expected a class that occurs, one of \[2, 7\], got 3"):
        result.leave_out(classes=[3])
    with pytest.raises(InputError, match="these orbits have none"):
        orbits(SAMPLES, flip()).leave_out(classes=[3])
    with pytest.raises(InputError, match="got both"):
        result.leave_out(samples=[0], classes=[7])
    with pytest.raises(InputError, match="expected an element of C2, 0 to 1, got 2"):
        result.leave_out(2)
    with pytest.raises(InputError, match="expected samples from 0 to 2"):
        result.leave_out(samples=[3])
    with pytest.raises(InputError, match="every point is marked missing"):
        result.leave_out(0).leave_out(1)
    with pytest.raises(InputError, match="at least one sample"):
        result.take([])
    with pytest.raises(InputError, match="expected a mask over 3 samples"):
        result.take(torch.tensor([True]))


def test_custom_actions_have_orbits() -> None:
    sign = custom_action(groups.cyclic(2), lambda g, x: -x if g else x, 1)
    result = orbits(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), sign)
    assert result.free.tolist() == [True, False]
