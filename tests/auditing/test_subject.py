"""What is audited: networks, data and actions that fit, and one line for each that does not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject
from symscope.data import LabelledData, custom_action, rotation
from symscope.errors import InputError
from symscope.groups import cyclic, dihedral


def images(count=12, side=6, classes=3, seed=0):
    x = torch.rand(count, side, side, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return LabelledData(x, torch.arange(count) % classes, "random", "drawn")


def network(side=6, outputs=3):
    return nn.Sequential(nn.Flatten(), nn.Linear(side * side, outputs))


class Changing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(36, 3)

    def forward(self, x):
        return self.layer(x.flatten(1)) + torch.rand(len(x), 3)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(36, 3)

    def forward(self, x):
        return self.layer(x.flatten(1)), None


def test_outputs_are_those_of_the_users_network_in_its_own_dtype():
    net = network()
    subject = audit_subject(net, images(), "C4 rotation")
    x = subject.data.x
    assert subject.outputs(x).dtype == torch.float64
    assert torch.equal(subject.outputs(x), net(x.float()).double())
    assert next(subject.module.parameters()).dtype == torch.float32
    assert subject.module is not net
    assert net.training


def test_a_fresh_network_has_other_weights_and_the_same_ones_for_a_seed():
    subject = audit_subject(network(), images(), "C4 rotation")
    x = subject.data.x
    first, again, second = (subject.outputs(x, subject.builder(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.allclose(first, second)
    assert not torch.allclose(first, subject.outputs(x))


def test_weights_from_a_file_are_read_in_their_dtype(tmp_path):
    net = network()
    torch.save(net.state_dict(), tmp_path / "w.pt")
    subject = audit_subject(network, images(), "C4 rotation", weights=tmp_path / "w.pt")
    assert torch.equal(subject.outputs(subject.data.x), net(subject.data.x.float()).double())
    assert subject.trained
    assert not audit_subject(network, images(), "C4 rotation").trained


def test_a_part_without_reset_parameters_has_no_builder_unless_one_is_given():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))
            self.layer = network()

        def forward(self, x):
            return self.scale * self.layer(x)

    assert audit_subject(Scaled(), images(), "C4 rotation").builder is None
    subject = audit_subject(Scaled(), images(), "C4 rotation", builder=Scaled)
    assert subject.outputs(subject.data.x, subject.builder(0)).shape == (12, 3)


@pytest.mark.parametrize("name", ["C4 rotation", "C8 rotation", "D4 dihedral", "C2 flip-y", "C2xC2 flip"])
def test_vectors_turn_as_images_do(name):
    """A bright spot's position, from the centre, x to the right and y up, is a vector that turns with it."""
    side = 9
    net = nn.Flatten()
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    at = torch.stack([columns - (side - 1) / 2, (side - 1) / 2 - rows], -1).reshape(-1, 2).double()
    linear = nn.Linear(side * side, 2, bias=False)
    linear.weight.data = at.T.clone()
    x = torch.zeros(2, side, side, dtype=torch.float64)
    x[0, 3, 6] = x[1, 2, 4] = 1.0
    data = LabelledData(x, torch.tensor([0, 1]), "spots", "typed")
    subject = audit_subject(nn.Sequential(net, linear), data, name, target_action="vector")
    for g in subject.others:
        back = subject.moved_back(g, subject.outputs(subject.moved(g, x)))
        exact = name != "C8 rotation" or g % 2 == 0
        assert (back - subject.outputs(x)).norm() < (1e-5 if exact else 0.3), subject.element_name(g)


def test_image_outputs_move_with_the_samples_also_at_another_size():
    conv = nn.Conv2d(1, 2, 1)
    subject = audit_subject(conv, images(), "C4 rotation", target_action="image")
    x = subject.data.x
    assert torch.allclose(subject.moved_back(1, subject.outputs(subject.moved(1, x))), subject.outputs(x))
    pooled = nn.Sequential(nn.Conv2d(1, 2, 1), nn.AvgPool2d(2))
    subject = audit_subject(pooled, images(), "C4 rotation", target_action="image")
    assert torch.allclose(subject.moved_back(3, subject.outputs(subject.moved(3, x))), subject.outputs(x))


def test_own_target_action_moves_back_by_the_inverse():
    turn = custom_action(cyclic(4), lambda g, y: y.roll(g, -1), 1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 4))
    subject = audit_subject(net, images(classes=4), "C4 rotation", target_action=turn)
    y = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    assert subject.moved_back(1, y).tolist() == [[2.0, 3.0, 4.0, 1.0]]


def test_series_are_moved_along_their_only_axis():
    x = torch.rand(6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    subject = audit_subject(nn.Linear(8, 2), (x, [0, 1] * 3), "C4 shift-x")
    assert torch.equal(subject.moved(1, subject.data.x)[:, 0], x.roll(2, -1))
    assert subject.outputs(subject.data.x).shape == (6, 2)


def test_classes_are_numbered_as_the_outputs():
    data = images()
    relabelled = LabelledData(data.x, data.labels * 5 + 2, "odd", "drawn")
    assert audit_subject(network(), relabelled, "C4 rotation").data.labels.tolist() == data.labels.tolist()
    with pytest.raises(InputError, match="an output for each class"):
        audit_subject(network(outputs=4), relabelled, "C4 rotation")
    one = audit_subject(network(outputs=1), images(classes=2), "C4 rotation")
    assert one.decisions(torch.tensor([[-0.1], [2.0]])).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": Changing()}, "two calls on the same samples"),
        ({"model": Pair()}, "return one tensor, got tuple"),
        ({"model": nn.Sequential(nn.Flatten(), nn.Linear(35, 3))}, "does not take the data"),
        ({"data": images(classes=1)}, "two classes or more"),
        ({"action": "C5 shift-x"}, "divides the width"),
        ({"action": "C4 turn"}, "name of an action"),
        ({"action": custom_action(cyclic(2), lambda g, x: x / (1 - g), 2)}, "finite"),
        ({"action": custom_action(cyclic(2), lambda g, x: x[:, :3], 2)}, "return what it was given"),
        ({"action": custom_action(cyclic(2), lambda g, x: x.nothing, 2)}, "its function raised"),
        ({"target_action": rotation(8)}, "^target action: expected an action of C4"),
        ({"target_action": custom_action(cyclic(4), lambda g, y: y.nothing, 1)}, "^target action .* raised"),
        ({"target_action": "image"}, "axes or more"),
        ({"target_action": "vector"}, "last axis has length 2"),
        ({"target_action": "imag"}, "image"),
        ({"weights": "/no/such/file.pt"}, "no file"),
        ({"device": "cuda:99"}, "device"),
    ],
)
def test_mistakes_get_one_line(change, words):
    given = {"model": network(), "data": images(), "action": "C4 rotation"} | change
    with pytest.raises(InputError, match=words) as error:
        audit_subject(given.pop("model"), given.pop("data"), given.pop("action"), **given)
    assert "\n" not in str(error.value)


def test_target_of_a_dihedral_group_is_no_target_of_a_cyclic_one():
    other = custom_action(dihedral(2), lambda g, y: y, 1)
    with pytest.raises(InputError, match="expected an action of C4"):
        audit_subject(network(), images(), "C4 rotation", target_action=other)


def test_weights_that_do_not_fit_are_refused(tmp_path):
    torch.save(network(outputs=4).state_dict(), tmp_path / "w.pt")
    with pytest.raises(InputError, match="does not fit the network"):
        audit_subject(network, images(), "C4 rotation", weights=tmp_path / "w.pt")


def test_element_names_are_degrees_for_rotations():
    subject = audit_subject(network(), images(), "C8 rotation")
    assert [subject.element_name(g) for g in subject.others][:2] == ["45°", "90°"]
    assert len(subject.others) == 7
