from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data import action_errors, orbits
from symscope.data.point_clouds import centred, point_flip, point_rotation
from symscope.errors import InputError
from symscope.groups import parse, symmetric

TURNING = (("C5", 2), ("D4", 2), ("C8", 3), ("D3", 3), ("T", 3), ("Oh", 3), ("I", 3))


def cloud(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("name", "dimension"), TURNING)
def test_every_group_acts_by_orthogonal_maps(name, dimension):
    errors = action_errors(point_rotation(parse(name), dimension), cloud(2, 4, dimension))
    assert max(errors.homomorphism, errors.identity, errors.orthogonality) < 1e-14


@given(g=st.integers(0, 59), seed=st.integers(0, 1000))
def test_points_are_turned_one_by_one_and_distances_stay(g, seed):
    group = parse("I")
    x = cloud(3, 5, 4, seed=seed)
    turned = point_rotation(group).act(g, x)
    expected = torch.stack([group.matrices[g] @ p[:3] for p in x.flatten(0, 1)]).reshape(3, 5, 3)
    assert torch.allclose(turned[..., :3], expected)
    assert torch.equal(turned[..., 3], x[..., 3])  # a feature of each point
    places = x[..., :3], turned[..., :3]
    before, after = (torch.cdist(p, p) for p in places)
    assert torch.allclose(before, after)
    assert torch.allclose(centred(turned, 3), point_rotation(group).act(g, centred(x, 3)))


def test_mirrors_change_the_hand_of_a_cloud_and_rotations_do_not():
    x = cloud(3, 3)  # three points span a volume with a sign
    assert torch.linalg.det(point_flip("z").act(1, x)).sign() == -torch.linalg.det(x).sign()
    assert bool(
        (torch.linalg.det(point_rotation(parse("I")).act_all(x)).sign() == torch.linalg.det(x).sign()).all()
    )


def test_orbits_of_clouds_and_processes():
    action = pickle.loads(pickle.dumps(point_rotation(parse("O"))))  # our own bytes
    assert orbits(cloud(2, 6, 3), action).points.shape == (2, 24, 6, 3)
    quarter = point_rotation(parse("C4"), 2)
    assert quarter.act(1, torch.tensor([[2.0, 0.0]])).tolist() == [[0.0, 2.0]]
    assert quarter.element_name(1) == "90°"


def test_bad_input():
    with pytest.raises(InputError, match="2 or 3 coordinates, got 4"):
        point_rotation(parse("I"), 4)
    with pytest.raises(InputError, match="turns points in 3 dimensions, got S3"):
        point_rotation(symmetric(3))
    with pytest.raises(InputError, match=r"points, 3 coordinates or more\], got \(4, 2\)"):
        point_rotation(parse("I")).act(1, cloud(4, 2))
    with pytest.raises(InputError, match="floating-point coordinates"):
        point_rotation(parse("I")).act(1, torch.ones(4, 3, dtype=torch.int64))
    with pytest.raises(InputError, match="expected an axis x, y of 2 or 3, got 'z' of 2"):
        point_flip("z", 2)
    with pytest.raises(InputError, match="one point or more"):
        centred(torch.zeros(2, 0, 3))
