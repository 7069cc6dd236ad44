"""One call from a kernel and an action: the same numbers as dense regression, whichever way it takes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import data
from symscope.data.images import shift
from symscope.errors import InputError
from symscope.groups import cyclic
from symscope.kernels import infinite_width
from symscope.kernels.classical import rbf_kernel
from symscope.spectral import (
    kernel_profile,
    leave_out,
    leave_out_orbits,
    leave_out_residual,
    precision,
    projected_profile,
)
from symscope.spectral._kernel_entries import NotInvariantError
from symscope.spectral._profile import profile_gram

RBF = rbf_kernel(3.0)


def images(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense(kernel, action, x, labels, mask, ridge):
    points = action.orbit(x).flatten(0, 1)
    values = labels.repeat_interleave(action.group.order, 0)
    return leave_out_residual(
        precision(kernel(points, points), ridge), values, mask.flatten().nonzero()[:, 0]
    )


ring = data.custom_action(cyclic(64), lambda g, x: x.roll(g, -1), 1, "ring")


@pytest.mark.parametrize(
    ("action", "shape"),
    [
        (data.rotation(4), (5, 6, 6)),
        (data.dihedral_action(4), (4, 5, 5)),
        (data.dihedral_action(4), (4, 3, 5, 5)),  # three channels
        (shift(7), (5, 7, 7)),
    ],
)
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_it_is_dense_regression_over_all_points(action, shape, ridge):
    x, generator = images(*shape), torch.Generator().manual_seed(1)
    labels = torch.randn(len(x), 2, generator=generator, dtype=torch.float64)
    masks = torch.rand(3, len(x), action.group.order, generator=generator) < 0.3
    masks[:, 0, 0] = True
    result = leave_out_orbits(RBF, action, x, labels, ridge, missing=masks)
    for k, mask in enumerate(masks):
        expected = dense(RBF, action, x, labels, mask, ridge)
        assert torch.allclose(result.residual[result.sets == k], expected, atol=1e-8)
    assert result.invariance_error == 0.0


def test_classes_are_left_out_in_turn():
    x, classes = images(5, 6, 6), torch.tensor([7, 2, 7, 9, 2])
    result = leave_out_orbits(RBF, data.rotation(4), x, classes, 0.0)
    assert result.samples.tolist() == [1, 4, 0, 2, 3]
    assert result.elements.tolist() == [0] * 5
    assert result.label.argmax(1).tolist() == [0, 0, 1, 1, 2]
    right = result.prediction.argmax(1) == result.label.argmax(1)
    assert 0 < int(right.sum()) < 5
    assert result.right.tolist() == right.tolist()
    expected = [float(right[rows].double().mean()) for rows in ([0, 1], [2, 3], [4])]
    assert result.accuracy().tolist() == expected
    mask = torch.zeros(5, 4, dtype=torch.bool)
    mask[[1, 4], 0] = True
    one_hot = nn.functional.one_hot(torch.tensor([1, 0, 1, 2, 0])).double()
    expected = dense(RBF, data.rotation(4), x, one_hot, mask, 0.0)
    assert torch.allclose(result.residual[:2], expected, atol=1e-10)


def test_samples_that_elements_keep_are_found():
    x = images(3, 6, 6)
    x[1] = (x[1] + x[1].rot90(2, (0, 1))) / 2
    labels = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
    missing = torch.zeros(3, 4, dtype=torch.bool)
    missing[1, 1] = True
    result = leave_out_orbits(RBF, data.rotation(4), x, labels, 0.0, missing=missing)
    assert result.points == 10
    assert "cosets" in result.explanation
    points = data.rotation(4).orbit(x).flatten(0, 1)[[0, 1, 2, 3, 4, 5, 8, 9, 10, 11]]
    values = labels[[0, 0, 0, 0, 1, 1, 2, 2, 2, 2]]
    expected = leave_out_residual(precision(RBF(points, points), 0.0), values, torch.tensor([5]))
    assert torch.allclose(result.residual, expected, atol=1e-8)


def test_what_is_only_nearly_symmetric_is_made_so_and_it_says_how_much():
    action, x, labels = data.rotation(8), images(4, 9, 9), torch.tensor([0, 1, 1, 0])
    result = leave_out_orbits(RBF, action, x, labels, 0.0)
    points = action.orbit(x).flatten(0, 1)
    projected = projected_profile(RBF(points, points), action.group)
    assert result.invariance_error == pytest.approx(projected.invariance_error)
    assert result.invariance_error > 1e-4
    assert "not invariant under C8 (rotation" in result.explanation
    one_hot, masks = nn.functional.one_hot(labels).double(), torch.zeros(2, 4, 8, dtype=torch.bool)
    masks[0, [0, 3], 0] = masks[1, [1, 2], 0] = True
    expected = leave_out(projected.profile, one_hot, masks, action.group, 0.0)
    assert torch.allclose(result.residual, expected.residual, atol=1e-10)


def test_a_kernel_that_is_not_invariant_is_found_where_samples_move():
    conv = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 1))
    ntk = infinite_width(conv).ntk  # zeros at the border: shifts change it
    x = images(4, 1, 8, 8)
    x[0], x[3] = 1.0, 0.3  # kept by every shift
    labels, missing = torch.linspace(-1.0, 2.0, 4).double(), torch.zeros(4, 8, dtype=torch.bool)
    missing[1, 5] = True
    action = shift(8)
    result = leave_out_orbits(ntk, action, x, labels, 0.1, missing=missing)
    points = action.orbit(x).flatten(0, 1)
    projected = projected_profile(ntk(points, points), action.group)
    assert result.invariance_error == pytest.approx(projected.invariance_error)
    assert result.invariance_error > 1e-3
    with pytest.raises(NotInvariantError):
        kernel_profile(ntk, action.orbit, x, action.group)


def test_points_that_coincide_count_once_where_the_action_is_only_nearly_one():
    action, x = data.rotation(8), images(3, 9, 9)
    x[1] = torch.stack([x[1].rot90(k, (0, 1)) for k in range(4)]).mean(0)
    labels = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
    missing = torch.zeros(3, 8, dtype=torch.bool)
    missing[1, 0] = True
    result = leave_out_orbits(RBF, action, x, labels, 0.0, missing=missing)
    assert result.invariance_error > 1e-4
    assert result.points == 18
    points = action.orbit(x).flatten(0, 1)
    gram = profile_gram(projected_profile(RBF(points, points), action.group).profile, action.group)
    different = [*range(10), *range(16, 24)]  # the second sample under 0 and 45 degrees
    values = labels.repeat_interleave(8)[different]
    expected = leave_out_residual(precision(gram[different][:, different], 0.0), values, torch.tensor([8]))
    assert torch.allclose(result.residual, expected, atol=1e-8)
    assert float(expected.abs()) > 0.1


def test_a_profile_too_large_for_the_memory_is_streamed():
    x = images(40, 64)
    labels = torch.linspace(-1.0, 2.0, 40, dtype=torch.float64)
    missing = torch.zeros(40, 64, dtype=torch.bool)
    missing[3, 5] = missing[17, 0] = True
    calls = []
    result = leave_out_orbits(
        RBF, ring, x, labels, 0.1, missing=missing, memory="700kB", progress=lambda *now: calls.append(now)
    )
    assert sum(done == total for what, done, total in calls if what == "kernel") > 1  # several passes
    expected = dense(RBF, ring, x, labels, missing, 0.1)
    assert torch.allclose(result.residual, expected, atol=1e-8)


def test_progress_ends_with_all_of_the_kernel_and_all_irreps():
    calls = []
    x = images(20, 64)
    leave_out_orbits(
        RBF, ring, x, torch.arange(20) % 3, 0.1, memory="3MB", progress=lambda *now: calls.append(now)
    )
    for what in ("kernel", "irreps"):
        done = [now[1:] for now in calls if now[0] == what]
        assert done == sorted(done)
        assert done[-1][0] == done[-1][1]
        assert len(done) > 1
    assert [now[1:] for now in calls if now[0] == "irreps"][-1] == (33, 33)


def test_progress_of_the_functions_below():
    x, group = images(5, 64), ring.group
    entries, irreps = [], []
    profile = kernel_profile(
        RBF, ring.orbit, x, group, memory="300kB", progress=lambda *now: entries.append(now)
    )
    assert len(entries) > 1
    assert entries[-1][1] == entries[-1][2]
    missing = torch.zeros(5, 64, dtype=torch.bool)
    missing[0, 0] = True
    leave_out(profile, x[:, 0], missing, group, 0.1, progress=lambda *now: irreps.append(now))
    assert irreps == [("irreps", k, 33) for k in range(1, 34)]


def test_labels_that_are_no_classes_need_missing_points():
    with pytest.raises(InputError, match="mark the points"):
        leave_out_orbits(RBF, data.rotation(4), images(3, 5, 5), images(3), 0.0)


def test_as_many_classes_as_samples():
    with pytest.raises(InputError, match="one class per sample, 3; got 2"):
        leave_out_orbits(RBF, data.rotation(4), images(3, 5, 5), torch.tensor([1, 2]), 0.0)


def test_what_is_no_action_is_refused():
    wrong = data.custom_action(cyclic(4), lambda g, x: x.roll(2 * g, -1), 2)
    with pytest.raises(InputError, match="not an action of C4"):
        leave_out_orbits(RBF, wrong, images(3, 6, 6), torch.tensor([0, 1, 1]), 0.0)


def test_too_little_memory_for_one_block():
    with pytest.raises(InputError, match=r"a block of 4 rows .* takes"):
        leave_out_orbits(RBF, data.rotation(8), images(4, 9, 9), torch.arange(4), 0.0, memory="1kB")


def test_samples_that_elements_keep_are_streamed_too():
    x = images(40, 64)
    x[3], x[8] = 1.0, x[8].roll(32) + x[8]
    classes = torch.arange(40) % 3
    result = leave_out_orbits(RBF, ring, x, classes, 0.1, memory="1.5MB")
    whole = leave_out_orbits(RBF, ring, x, classes, 0.1)
    assert result.points == whole.points == 38 * 64 + 32 + 1
    assert torch.allclose(result.residual, whole.residual, atol=1e-10)
