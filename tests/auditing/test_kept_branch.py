"""Parts of networks that keep a symmetry by themselves, and those that only seem to."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject
from symscope.auditing._kept_branch import keeps_symmetry
from tests.auditing.planted import aligned, circular, fresh, head, mlp, plain_cnn, turn_net
from tests.auditing.planted_networks import FreeBranch


class Pointwise(nn.Module):
    """A convolution of size 1, which mixes no positions, before a layer that knows all of them."""

    def __init__(self):
        super().__init__()
        self.first, self.out = nn.Conv2d(1, 4, 1), nn.Linear(256, 3)

    def forward(self, x):
        return self.out(torch.relu(self.first(x)).flatten(1))


class Blocks(nn.Module):
    """A block of two layers, symmetric as a whole, and a free one beside it."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(circular(), nn.ReLU(), *head())
        self.free = nn.Linear(64, 3)

    def forward(self, x):
        return self.block(x) + self.free(x.flatten(1))


@pytest.mark.parametrize(
    ("build", "action", "kept"),
    [
        (mlp, "C4 rotation", False),
        (plain_cnn, "C4 rotation", False),
        (Pointwise, "C4 rotation", False),
        (turn_net, "C4 rotation", True),
        (FreeBranch, "C4 rotation", True),
        (Blocks, "C8 shift-x", True),
        (Blocks, "C4 rotation", False),
    ],
)
def test_what_keeps_the_symmetry(build, action, kept):
    subject = audit_subject(fresh(build).double(), aligned(12), action)
    assert keeps_symmetry(subject, subject.data.x, subject.others, subject.module) is kept
