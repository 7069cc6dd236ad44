from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data._action import Action, custom_action, default_tolerance, fixing_elements
from symscope.data._rotation import dihedral_action, rotation
from symscope.data.images import flip, flip_both, pixel_permutation, shift, shift_both
from symscope.data.nodes import node_permutation
from symscope.data.vectors import linear_action
from symscope.errors import InputError
from tests.tolerances import ROUNDING


def _scaled_roll(g: int, x: torch.Tensor) -> torch.Tensor:
    return torch.roll(x, g, dims=-1)


ALTERNATING, OCTAHEDRAL = groups.named_groups.alternating(4), groups.polyhedral.octahedral()
EXACT: dict[str, tuple[Callable[[], Action], tuple[int, ...]]] = {
    "rotation 2": (lambda: rotation(2), (5, 5)),
    "rotation 4": (lambda: rotation(4), (6, 6)),
    "rotation 8": (lambda: rotation(8, "orthogonal"), (6, 6)),
    "rotation 3": (lambda: rotation(3, "orthogonal"), (5, 5)),
    "rotation 12": (lambda: rotation(12, "orthogonal"), (7, 7)),
    "dihedral 1": (lambda: dihedral_action(1), (3, 3)),
    "dihedral 4": (lambda: dihedral_action(4), (5, 5)),
    "dihedral 8": (lambda: dihedral_action(8, "orthogonal"), (6, 6)),
    "dihedral 5": (lambda: dihedral_action(5, "orthogonal"), (4, 4)),
    "shift x": (lambda: shift(3, "x"), (2, 6)),
    "shift y": (lambda: shift(4, "y"), (4, 3)),
    "shift both": (lambda: shift_both(3, 4), (6, 4)),
    "flip x": (lambda: flip("x"), (3, 4)),
    "flip y": (lambda: flip("y"), (3, 4)),
    "flip both": (lambda: flip_both(), (3, 2)),
    "pixels": (
        lambda: pixel_permutation(ALTERNATING, ALTERNATING.permutations),
        (2, 2),
    ),
    "adjacency": (lambda: node_permutation(groups.symmetric(4)), (4, 4)),
    "features": (lambda: node_permutation(groups.dihedral(5), "features"), (5, 3)),
    "irrep": (
        lambda: linear_action(groups.from_matrices(OCTAHEDRAL, OCTAHEDRAL.matrices)),
        (3,),
    ),
    "custom": (lambda: custom_action(groups.cyclic(5), _scaled_roll, 1), (5,)),
}
BUILT = {name: (build(), shape) for name, (build, shape) in EXACT.items()}


def _apart(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max())


@given(name=st.sampled_from(sorted(BUILT)), seed=st.integers(0, 10_000), data=st.data())
def test_group_laws(name: str, seed: int, data: st.DataObject) -> None:
    action, shape = BUILT[name]
    element = st.integers(0, action.group.order - 1)
    g, h = data.draw(element), data.draw(element)
    x = torch.randn(3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert _apart(action.act(g, action.act(h, x)), action.act(action.group.multiply(g, h), x)) < ROUNDING
    assert _apart(action.act(0, x), x) < ROUNDING
    assert _apart(action.act(action.group.inverse(g), action.act(g, x)), x) < ROUNDING
    before, after = x.flatten(1), action.act(g, x).flatten(1)
    assert _apart(after @ after.T, before @ before.T) < 100 * ROUNDING


@pytest.mark.parametrize("name", BUILT)
def test_acts_faithfully(name: str) -> None:
    action, shape = BUILT[name]
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    orbit = action.act_all(x).flatten(1)
    distances = torch.cdist(orbit, orbit) + torch.eye(len(orbit))
    assert float(distances.min()) > 1e-3


@pytest.mark.parametrize("name", BUILT)
def test_elements_broadcast_with_samples(name: str) -> None:
    action, shape = BUILT[name]
    order = action.group.order
    x = torch.randn(2, 3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    g = torch.tensor([[order - 1], [1 % order]])
    moved = action.act(g, x)
    assert moved.shape == x.shape
    for i in range(2):
        for j in range(3):
            assert _apart(moved[i, j], action.act(int(g[i, 0]), x[i, j])) < ROUNDING
    everyone = action.act_all(x)
    assert everyone.shape == (2, 3, order, *shape)
    assert _apart(everyone[1, 2, order - 1], action.act(order - 1, x[1, 2])) < ROUNDING
    assert action.act(torch.arange(order), x[0, 0]).shape == (order, *shape)


@pytest.mark.parametrize("name", BUILT)
def test_keeps_dtype_and_survives_pickling(name: str) -> None:
    action, shape = BUILT[name]
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(2))
    copy = pickle.loads(pickle.dumps(action))
    assert copy.group == action.group
    for dtype in (torch.float32, torch.float64):
        moved = action.act(action.group.order - 1, x.to(dtype))
        assert moved.dtype == dtype
        assert torch.equal(copy.act(action.group.order - 1, x.to(dtype)), moved)
        assert _apart(moved.double(), action.act(action.group.order - 1, x.double())) < 1e-5


@pytest.mark.parametrize("name", BUILT)
def test_empty_batches_pass_through(name: str) -> None:
    action, shape = BUILT[name]
    assert action.act(0, torch.zeros(0, *shape)).shape == (0, *shape)
    assert action.act_all(torch.zeros(0, *shape)).shape == (0, action.group.order, *shape)


@pytest.mark.parametrize("name", BUILT)
def test_gradients_flow_through(name: str) -> None:
    action, shape = BUILT[name]
    x = torch.randn(2, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    y = torch.randn(2, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    x.requires_grad_()
    g = action.group.order - 1
    (action.act(g, x) * y).sum().backward()
    assert x.grad is not None
    # the adjoint of an orthogonal action is the inverse
    assert _apart(x.grad, action.act(action.group.inverse(g), y)) < ROUNDING


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", BUILT)
def test_same_on_cuda(name: str) -> None:
    action, shape = BUILT[name]
    x = torch.randn(3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    there = action.act_all(x.cuda())
    assert there.is_cuda
    assert _apart(there.cpu(), action.act_all(x)) < ROUNDING


@pytest.mark.parametrize("element", [-1, 4, 100])
def test_refuses_elements_outside(element: int) -> None:
    with pytest.raises(InputError, match="expected elements of C4, 0 to 3"):
        rotation(4).act(element, torch.zeros(2, 2))


def test_refuses_too_few_axes() -> None:
    with pytest.raises(InputError, match="expected samples with 2 axes for the action rotation"):
        rotation(4).act(1, torch.zeros(4))
    with pytest.raises(InputError, match="expected samples with 2 axes"):
        rotation(4).act_all(torch.zeros(4))


def test_refuses_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(InputError, match=r"broadcasts with the batch axes \(3,\), got shape \(2,\)"):
        rotation(4).act(torch.tensor([0, 1]), torch.zeros(3, 2, 2))


def test_custom_refuses_changed_shapes_and_dtypes() -> None:
    shrink = custom_action(groups.cyclic(2), lambda g, x: x[..., :1], 1)
    with pytest.raises(InputError, match=r"for element 1 it returned \(1, 1\)"):
        shrink.act(1, torch.zeros(3))
    widen = custom_action(groups.cyclic(2), lambda g, x: x.double(), 1)
    with pytest.raises(InputError, match=r"of torch.float32; for element 0 it returned"):
        widen.act(0, torch.zeros(3))
    with pytest.raises(InputError, match="number of axes of one sample"):
        custom_action(groups.cyclic(2), lambda g, x: x, -1)


@pytest.mark.parametrize("function", [lambda: 1, lambda x: x, lambda g, x, more: x, lambda g, *, x: x])
def test_custom_refuses_other_arguments(function) -> None:
    with pytest.raises(InputError, match=r"action turn: expected a function of an element and samples"):
        custom_action(groups.cyclic(2), function, 1, "turn")


def test_custom_takes_whatever_can_be_called_with_two_arguments() -> None:
    x = torch.tensor([1.0, 2.0])
    for function in (lambda g, x, more=3: more * g - x, lambda *both: 3 * both[0] - both[1]):
        assert custom_action(groups.cyclic(2), function, 1).act(1, x).tolist() == [2.0, 1.0]
    assert custom_action(groups.cyclic(2), torch.Tensor.mul, 1).transform.function is torch.Tensor.mul


def test_refuses_another_number_of_pixels() -> None:
    with pytest.raises(InputError, match=r"expected samples of 4 entries.*got \(3, 2\), which has 6"):
        pixel_permutation(ALTERNATING, ALTERNATING.permutations).act(1, torch.zeros(3, 2))


@given(bits=st.lists(st.integers(0, 1), min_size=9, max_size=9))
def test_brute_force_on_small_images(bits: list[int]) -> None:
    x = torch.tensor(bits).reshape(1, 3, 3)
    action = dihedral_action(4)
    kept, closed = fixing_elements(action.act_all(x), x, action.group, 0.0)
    brute = []
    for g in range(8):
        image = x[0].flip(-1) if g >= 4 else x[0]
        if torch.equal(torch.rot90(image, g % 4), x[0]):
            brute.append(g)
    assert kept[0].tolist() == brute
    assert bool(closed[0])
    assert torch.equal(action.group.subgroup(kept[0]), kept[0])


@given(edges=st.lists(st.integers(0, 1), min_size=6, max_size=6))
def test_automorphisms_of_graphs(edges: list[int]) -> None:
    adjacency = torch.zeros(4, 4, dtype=torch.int64)
    adjacency[*torch.triu_indices(4, 4, 1)] = torch.tensor(edges)
    adjacency = adjacency + adjacency.T
    group = groups.symmetric(4)
    kept, closed = fixing_elements(
        node_permutation(group).act_all(adjacency[None]), adjacency[None], group, 0.0
    )
    brute = [g for g, p in enumerate(group.permutations) if torch.equal(adjacency[p][:, p], adjacency)]
    assert kept[0].tolist() == brute  # g keeps A exactly if its inverse does
    assert bool(closed[0])


def test_tolerance_is_relative() -> None:
    x = torch.tensor([[[1e3, 1e3 + 1e-3]], [[1e-3, 2e-3]]], dtype=torch.float64)
    points = flip().act_all(x)
    near, _ = fixing_elements(points, x, flip().group, 1e-5)
    assert [k.tolist() for k in near] == [[0, 1], [0]]
    exact, _ = fixing_elements(points, x, flip().group, default_tolerance(torch.float64))
    assert [k.tolist() for k in exact] == [[0], [0]]


def test_a_set_that_is_not_closed_is_called_so() -> None:
    group = groups.cyclic(6)
    x = torch.ones(1, 2, dtype=torch.float64)
    points = x.expand(1, 6, 2).clone()
    points[0, 2:5] += 1  # kept by r^-1, e, r, not by r^2
    kept, closed = fixing_elements(points, x, group, 1e-6)
    assert kept[0].tolist() == [0, 1, 5]
    assert not bool(closed[0])


def test_zero_is_kept_by_all() -> None:
    x = torch.zeros(1, 3, 3)
    kept, closed = fixing_elements(dihedral_action(4).act_all(x), x, dihedral_action(4).group, 1e-6)
    assert kept[0].tolist() == list(range(8))
    assert bool(closed[0])


def test_default_tolerances() -> None:
    assert default_tolerance(torch.float64) ** 2 == torch.finfo(torch.float64).eps
    assert abs(default_tolerance(torch.float32) - 3.45e-4) < 1e-6
    assert default_tolerance(torch.int64) == 0.0
