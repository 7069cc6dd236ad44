"""What layers add: the parts add up, and are where the fault is."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject
from symscope.auditing._error_table import error_table
from symscope.auditing._fresh import FRESH, SHUFFLED, fresh_networks
from symscope.auditing._layer_shares import layer_shares
from tests.auditing.planted import aligned, circular, fresh, head, mlp, plain_cnn, shift_net, turn_net
from tests.auditing.planted_networks import PositionBias


def shares_of(net, action):
    subject = audit_subject(net.double(), aligned(24), action)
    x = subject.data.x[:12]
    shares = layer_shares(subject, x, subject.others)
    return subject, x, shares


@pytest.mark.parametrize("build", [plain_cnn, mlp, lambda: turn_net(PositionBias())])
def test_parts_add_up_to_the_squared_error(build):
    subject, x, shares = shares_of(fresh(build), "C4 rotation")
    whole = float(error_table(subject, x, subject.others).square())
    assert sum(float(one.added.mean()) for one in shares) == pytest.approx(whole, rel=1e-9)


def test_all_is_added_by_the_only_layer_that_breaks_the_symmetry():
    _, _, shares = shares_of(fresh(lambda: turn_net(PositionBias())), "C4 rotation")
    whole = sum(float(one.added.mean()) for one in shares)
    added = {one.kind: float(one.added.mean()) / whole for one in shares}
    assert added["PositionBias"] == pytest.approx(1.0, abs=1e-6)
    assert {one.layer: one.mixes for one in shares}["0"]
    assert not {one.kind: one.mixes for one in shares}["PositionBias"]  # it mixes no positions


def test_what_a_stride_makes_unmovable_is_the_stride_s():
    _, _, shares = shares_of(fresh(lambda: shift_net(circular(8, 8, stride=2))), "C8 shift-x")
    largest = max(shares, key=lambda one: float(one.added.mean()))
    assert (largest.layer, largest.kind) == ("2", "Conv2d")


def test_a_head_after_pooling_mixes_no_positions_and_one_on_flattened_maps_does():
    _, _, pooled = shares_of(fresh(shift_net), "C8 shift-x")
    assert {one.layer: one.mixes for one in pooled}["6"] is False
    flat = nn.Sequential(circular(), nn.ReLU(), nn.Flatten(), nn.Linear(512, 3))
    assert {one.layer: one.mixes for one in shares_of(flat, "C8 shift-x")[2]}["3"] is True


def test_fresh_networks_are_the_builder_s_or_shuffled():
    net = fresh(plain_cnn)
    subject = audit_subject(net, aligned(24), "C4 rotation")
    [first, second], how = fresh_networks(subject, subject.data.x, 2)
    assert how == FRESH
    assert not torch.equal(first[0].weight, second[0].weight)

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.net = nn.Parameter(torch.arange(3.0)), fresh(plain_cnn)

        def forward(self, x):
            return self.scale * self.net(x)

    subject = audit_subject(Scaled(), aligned(24), "C4 rotation")
    [one], how = fresh_networks(subject, subject.data.x, 1)
    assert how == SHUFFLED
    weights = one.net[0].weight.flatten().sort().values
    assert torch.equal(weights, subject.module.net[0].weight.flatten().sort().values)
    assert not torch.equal(one.net[0].weight, subject.module.net[0].weight)


def test_fresh_batch_norm_has_the_statistics_of_the_samples():
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), *head(2))
    subject = audit_subject(net, aligned(24), "C4 rotation")
    [one], _ = fresh_networks(subject, subject.data.x, 1)
    with torch.no_grad():
        maps = one[0](subject.inputs(subject.data.x))
    assert torch.allclose(one[1].running_mean, maps.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(one[1].running_var, maps.var((0, 2, 3)), rtol=1e-4)
    assert one[1].momentum == 0.1
    assert not one[1].training
