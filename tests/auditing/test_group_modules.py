from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.auditing.repairs import Averaged, Canonical, data_frame
from symscope.data import Action, custom_action, dihedral_action, rotation
from symscope.data.images import shift
from symscope.errors import InputError
from symscope.groups import cyclic
from tests.tolerances import ROUNDING


def images(count: int = 5, side: int = 6) -> torch.Tensor:
    return torch.rand(count, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def network(outputs: int = 3, inputs: int = 36) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        net = nn.Sequential(nn.Flatten(), nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs)).double()
    return net.eval().requires_grad_(False)


EXACT = [rotation(4), dihedral_action(4), shift(6), shift(3, "y"), rotation(8, "orthogonal")]


@pytest.mark.parametrize("action", EXACT, ids=lambda action: f"{action.name} {action.group.name}")
@pytest.mark.parametrize("probabilities", [False, True])
def test_averages_over_an_exact_action_are_invariant_to_rounding(action: Action, probabilities):
    net, x = network(), images()
    averaged = Averaged(net, action, probabilities=probabilities)
    plain = averaged(x)
    assert float((net(x.flip(2)) - net(x)).norm()) > 0.01 * float(net(x).norm())  # the network itself is not
    for g in action.group.elements:
        assert torch.allclose(averaged(action.act(g, x)), plain, rtol=0, atol=ROUNDING)


def test_averages_are_means_of_outputs_or_of_probabilities():
    net, x, action = network(), images(), rotation(4)
    outputs = torch.stack([net(x.rot90(k, (1, 2))) for k in range(4)])
    assert torch.allclose(Averaged(net, action)(x), outputs.mean(0))
    soft = Averaged(net, action, probabilities=True)(x)
    assert torch.allclose(soft.exp(), outputs.softmax(2).mean(0))
    assert torch.allclose(Averaged(net, action, elements=[0, 2])(x), outputs[::2].mean(0))
    flat = Averaged(network(), action, shape=(6, 6))
    assert torch.allclose(flat(x.flatten(1)), outputs.mean(0))


@given(g=st.integers(0, 7), h=st.integers(0, 7))
def test_an_average_is_equivariant_where_outputs_move_with_inputs(g, h):
    action, x = dihedral_action(4), images(2)
    uneven = nn.Conv2d(1, 1, 3, padding=1, dtype=torch.float64).requires_grad_(False)
    net = Averaged(uneven, action, action)
    moved = action.act(g, action.act(h, x))[:, None]
    expected = action.act(g, action.act(h, net(x[:, None])))
    assert torch.allclose(net(moved), expected, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("framed", [False, True])
def test_a_canonical_pose_is_the_same_from_every_transformation(framed):
    net, x, action = network(), images(), dihedral_action(4)
    pose = Canonical(net, action, frame=data_frame(images(40)) if framed else None)
    plain, group = pose(x), action.group
    for g in group.elements:
        moved = action.act(g, x)
        assert torch.allclose(pose(moved), plain, rtol=0, atol=ROUNDING)
        after = group.law(pose.best_elements(moved), torch.tensor(g))
        assert torch.equal(after, pose.best_elements(x))  # h(g x) g = h(x)


def test_a_pose_by_confidence_is_the_most_confident_one():
    net, x = network(), images()
    outputs = torch.stack([net(x.rot90(k, (1, 2))) for k in range(4)])
    best = outputs.softmax(2).amax(2).argmax(0)
    expected = outputs[best, torch.arange(len(x))]
    assert torch.allclose(Canonical(net, rotation(4))(x), expected)


def test_a_frame_recognises_the_pose_of_aligned_data():
    generator = torch.Generator().manual_seed(0)
    shapes = torch.zeros(60, 6, 6, dtype=torch.float64)
    shapes[:, 0, :] = 1 + torch.rand(60, 6, dtype=torch.float64, generator=generator)  # bright at the top
    frame = data_frame(shapes[:40])
    pose = Canonical(network(), rotation(4), frame=frame)
    turned = torch.stack([one.rot90(k % 4, (0, 1)) for k, one in enumerate(shapes[40:])])
    assert pose.best_elements(turned).tolist() == [-k % 4 for k in range(20)]


def test_a_network_with_one_output_has_a_confidence_too():
    x = images()
    net = network(outputs=1)
    strongest = torch.stack([net(x.rot90(k, (1, 2)))[:, 0] for k in range(4)])
    expected = strongest.gather(0, strongest.abs().argmax(0)[None])[0]
    assert torch.allclose(Canonical(net, rotation(4))(x)[:, 0], expected)


def test_modules_train_and_move_like_any_other():
    sign = custom_action(cyclic(2), lambda g, x: -x if g else x, 1, "sign")
    net = Averaged(
        nn.Linear(3, 2, bias=False), sign, custom_action(cyclic(2), lambda g, x: -x if g else x, 1)
    )
    net(torch.ones(2, 3)).sum().backward()
    assert [name for name, weight in net.named_parameters() if weight.grad is not None] == ["module.weight"]
    assert net.double()(torch.ones(2, 3, dtype=torch.float64)).dtype == torch.float64


@pytest.mark.parametrize("elements", [[], [0, 4], [1, 1], [-1]])
def test_wrong_elements_are_refused(elements):
    with pytest.raises(InputError, match="different elements of C4"):
        Averaged(nn.Identity(), rotation(4), elements=elements)


def test_probabilities_that_move_are_refused():
    with pytest.raises(InputError, match="probabilities"):
        Averaged(nn.Identity(), rotation(4), rotation(4), probabilities=True)


@pytest.mark.parametrize(
    "x", [torch.zeros(3), torch.zeros(1, 4), torch.full((3, 4), float("nan")), torch.zeros(0, 2)]
)
def test_a_frame_needs_samples(x):
    with pytest.raises(InputError, match="samples"):
        data_frame(x)


def test_directions_of_another_length_are_refused():
    with pytest.raises(InputError, match="a mean"):
        Canonical(nn.Identity(), rotation(4), frame=(torch.zeros(3), torch.zeros(2, 4)))


@pytest.mark.parametrize("count", [12, 60])  # fewer samples than pixels, and more
def test_directions_of_a_frame_are_those_of_a_singular_value_decomposition(count):
    x = images(count) * torch.linspace(0.1, 2, 36, dtype=torch.float64).reshape(6, 6)
    mean, directions = data_frame(x)
    rows = x.flatten(1) - x.flatten(1).mean(0)
    expected = torch.linalg.svd(rows, full_matrices=False).Vh[: len(directions)]
    assert torch.allclose(mean, x.flatten(1).mean(0), rtol=0, atol=ROUNDING)
    assert torch.allclose((directions @ expected.mT).abs(), torch.eye(len(expected)).double(), atol=1e-8)


def test_samples_in_one_pose_pass_the_network_together_and_go_back_each_by_its_own_element():
    x, action = images(7), rotation(4)
    seen = []
    net = nn.Conv2d(1, 1, 3, padding=1).double().requires_grad_(False)
    net.register_forward_hook(lambda part, given, out: seen.append(len(given[0])))
    pose = Canonical(net, action, action, frame=data_frame(images(40)[:, None]))
    out = pose(x[:, None])
    assert seen == [7]
    for one, best, result in zip(x, pose.best_elements(x[:, None]).tolist(), out, strict=True):
        expected = action.act(action.group.inverse(best), net(action.act(best, one[None, None])))[0]
        assert torch.allclose(result, expected, rtol=0, atol=ROUNDING)
