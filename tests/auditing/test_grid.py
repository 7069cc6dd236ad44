"""The grid's part where it is all or nothing, and derivatives against closed forms."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject, exact_elements
from symscope.auditing._error_table import error_table
from symscope.auditing._grid import _SmallTurn, grid_part, local_error, smoothed
from symscope.data import LabelledData, rotation
from tests.auditing.planted import aligned
from tests.auditing.planted_networks import Rings
from tests.auditing.test_error_table import drawn, linear
from tests.auditing.test_subject import images


def waves(count: int = 12, side: int = 16) -> LabelledData:
    """Images of two low frequencies with phases and sizes of their own."""
    generator = torch.Generator().manual_seed(2)
    size, phase = (torch.rand(count, 2, 1, generator=generator, dtype=torch.float64) for _ in range(2))
    at = torch.arange(side, dtype=torch.float64)
    rows = (size * torch.cos(2 * math.pi * (torch.tensor([[1.0], [2.0]]) * at / side + phase))).sum(1)
    return LabelledData(
        rows[:, None].expand(-1, side, -1).contiguous(), torch.arange(count) % 2, "waves", "drawn"
    )


def test_exact_actions_have_no_grid_part():
    subject = audit_subject(linear(drawn(3, 36)), images(), "C4 rotation")
    table = error_table(subject, subject.data.x, subject.others)
    part = grid_part(subject, subject.data.x, subject.others, subject.others)
    assert float(part.square(table)) == 0.0


def test_all_of_a_network_that_is_invariant_but_for_the_grid_is_the_grid_s():
    net = Rings(16)
    subject = audit_subject(net, aligned(30, 16), "C8 rotation")
    x = subject.data.x
    table = error_table(subject, x, subject.others)
    part = grid_part(subject, x, exact_elements(subject.action, x[:2]), subject.others)
    assert part.rough == (1, 3, 5, 7)
    assert float(part.square(table)) == pytest.approx(float(table.square()), rel=0.05)
    assert part.smooth_rough < 0.5 * table.error(part.rough)


def test_the_grid_takes_no_more_than_the_round_trip():
    subject = audit_subject(linear(drawn(3, 256)), aligned(30, 16), "C8 rotation")
    x = subject.data.x
    table = error_table(subject, x, subject.others)
    part = grid_part(subject, x, exact_elements(subject.action, x[:2]), subject.others)
    assert float(part.square(table)) <= float(part.trips.square()) * 4 / 7 + 1e-12
    turned = torch.stack([rotation(8).act(7, rotation(8).act(1, one)) for one in x])
    change = (subject.outputs(turned) - subject.outputs(x)).square().sum(1).mean()
    spread = (subject.outputs(x) - subject.outputs(x).mean(0)).square().sum(1).mean()
    assert float(part.trips.square([1])) == pytest.approx(float(change / spread))


def test_the_derivative_of_a_linear_network_along_shifts_is_that_of_the_waves():
    """f(x) = W x, x(c) = sum a cos(k c + p): d/dt f(x(c - t)) = W (sum a k sin(k c + p)), per pixel."""
    data = waves()
    weight = drawn(2, 256)
    subject = audit_subject(linear(weight), data, "C8 shift-x")
    table = error_table(subject, data.x, subject.others)
    found = local_error(subject, data.x, table)
    frequencies = torch.fft.rfftfreq(16).double() * 2 * math.pi
    slope = torch.fft.irfft(-1j * frequencies * torch.fft.rfft(data.x), n=16)
    expected = (slope.flatten(1) @ weight.T).square().sum(1).mean()
    outputs = data.x.flatten(1) @ weight.T
    spread = (outputs - outputs.mean(0)).square().sum(1).mean()
    # the first step of C8 is two pixels; central differences of 0.1 pixels are off by (k t)^2 / 6
    assert found.per_step == pytest.approx(2 * math.sqrt(float(expected / spread)), rel=2e-3)
    assert found.first_step == table.error([1])


def test_small_turns_are_those_of_the_rotation_action():
    x = smoothed(smoothed(aligned(3, 24).x))
    turned = _SmallTurn(24)(1, x)
    away = torch.arange(24) - 11.5
    inside = (away[:, None] ** 2 + away**2) < 81
    right, wrong = rotation(24).act(1, x), rotation(24).act(23, x)
    assert ((turned - right) * inside).norm() < 0.05 * ((turned - wrong) * inside).norm()


def test_a_network_that_is_invariant_has_no_derivative():
    net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 2))
    subject = audit_subject(net, images(classes=2), "C6 shift-x")
    table = error_table(subject, subject.data.x, subject.others)
    assert local_error(subject, subject.data.x, table).per_step < 1e-4
    assert local_error(audit_subject(net, images(classes=2), "C2 flip"), subject.data.x, table) is None


@pytest.mark.parametrize(
    ("action", "step"), [("C8 rotation", 45.0), ("D8 dihedral", 45.0), ("C12 rotation", 30.0)]
)
def test_the_derivative_of_a_linear_network_along_rotations_is_that_of_gaussian_spots(action, step):
    """f(x) = W x, x(p) = exp(-|p - c|^2 / 2 s^2): turned by t the centre c moves by t (-c_y, c_x)."""
    side, size = 24, 2.0
    across = torch.arange(side).double() - (side - 1) / 2
    right, up = across.expand(side, side), -across[:, None].expand(side, side)
    angles = torch.linspace(0, 2 * math.pi, 13, dtype=torch.float64)[:-1]
    centres = 4.0 * torch.stack([angles.cos(), angles.sin()], 1)
    offset = torch.stack([right, up]) - centres[:, :, None, None]
    x = torch.exp(-offset.square().sum(1) / (2 * size**2))
    velocity = torch.stack([-centres[:, 1], centres[:, 0]], 1)
    slope = x * (offset * velocity[:, :, None, None]).sum(1) / size**2  # per radian
    weight = drawn(2, side**2)
    subject = audit_subject(linear(weight), (x, torch.arange(12) % 2), action)
    found = local_error(subject, x, error_table(subject, x, subject.others))
    outputs = x.flatten(1) @ weight.T
    spread = (outputs - outputs.mean(0)).square().sum(1).mean()
    expected = math.radians(step) * math.sqrt(
        float((slope.flatten(1) @ weight.T).square().sum(1).mean() / spread)
    )
    assert found.per_step == pytest.approx(expected, rel=2e-3)
    assert found.step in (f"{step:.0f}°", "r")
