"""Actions that are none, or not the ones that were meant, and actions with which nothing is wrong."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject
from symscope.auditing._action_faults import action_fault
from symscope.auditing._error_table import error_table
from symscope.data import LabelledData, custom_action
from symscope.groups import cyclic
from tests.auditing.planted import aligned, fresh, image_net, mlp, rot, turn_net
from tests.auditing.planted_networks import Moments


def fault_of(net, action, data=None, **given):
    subject = audit_subject(net, aligned(80) if data is None else data, action, **given)
    return action_fault(subject, subject.data.x, error_table(subject, subject.data.x, subject.others))


@pytest.mark.parametrize("action", ["C4 rotation", "C8 rotation", "C8 shift-x", "D4 dihedral", "C2xC2 flip"])
def test_nothing_is_wrong_with_built_in_actions_on_an_ordinary_network(action):
    assert fault_of(fresh(mlp), action) is None


def test_nothing_is_wrong_with_right_functions_of_one_s_own():
    assert fault_of(fresh(mlp), custom_action(cyclic(4), lambda g, x: rot(x, g), 2)) is None
    assert fault_of(fresh(turn_net), custom_action(cyclic(4), lambda g, x: rot(x, g), 2)) is None


def test_broken_laws_are_told_though_there_is_no_error():
    order = [0, 2, 1, 3]
    fault = fault_of(fresh(turn_net), custom_action(cyclic(4), lambda g, x: rot(x, order[g]), 2))
    assert "not an action of C4" in fault.sentence
    assert fault.corrected is None


def test_broken_laws_of_a_target_action_are_told():
    target = custom_action(cyclic(4), lambda g, y: (1 + g) * y, 1, "growing")
    fault = fault_of(fresh(turn_net), "C4 rotation", target_action=target)
    assert fault.sentence.startswith("target action: growing is not an action")


def test_with_the_corrected_target_nothing_is_left():
    fault = fault_of(fresh(image_net), "C8 shift-x")
    assert "move with the positions" in fault.sentence
    x = fault.corrected.data.x[:20]
    assert error_table(fault.corrected, x, fault.corrected.others).error() < 1e-5


def test_a_representation_that_has_no_name_is_fitted():
    """Two copies of the plane, mixed by a fixed matrix: vectors, but not (x, y)."""
    mixing = torch.randn(4, 2, generator=torch.Generator().manual_seed(0))

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = fresh(Moments)

        def forward(self, x):
            return self.inner(x) @ mixing.T.to(x)

    fault = fault_of(Mixed(), "C4 rotation", task="regression")
    assert "change linearly" in fault.sentence
    assert error_table(fault.corrected, fault.corrected.data.x[:30], (1, 2, 3)).error() < 1e-3


def test_three_scores_of_clouds_in_space_are_asked_as_vectors_too():
    generator = torch.Generator().manual_seed(0)
    data = LabelledData(
        torch.randn(24, 4, 3, generator=generator, dtype=torch.float64),
        torch.arange(24) % 3,
        "clouds",
        "tests",
    )
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
    assert fault_of(net, "T", data) is None
