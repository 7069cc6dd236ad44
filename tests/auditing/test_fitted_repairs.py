from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject
from symscope.auditing._fitted_repairs import best_scale, fine_tuned, refitted, ridge_solution
from symscope.data import LabelledData
from symscope.errors import InputError
from tests.auditing.trained import bar_subject, bars, tilt_subject


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("ridge", [1e-3, 0.5])
def test_the_closed_form_is_the_solution_of_extended_least_squares(ridge, bias):
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(30, 5, dtype=torch.float64, generator=generator) + 1
    targets = torch.randn(30, 2, dtype=torch.float64, generator=generator)
    weight, shift = ridge_solution(rows, targets, ridge, bias)
    ones = torch.ones(30, 1, dtype=torch.float64)
    design = torch.cat([rows, ones], 1) if bias else rows
    penalty = (30 * ridge) ** 0.5 * torch.eye(design.shape[1], dtype=torch.float64)[:5]  # the bias is free
    tall = torch.cat([design, penalty])
    wide = torch.cat([targets, torch.zeros(5, 2, dtype=torch.float64)])
    expected = torch.linalg.lstsq(tall, wide).solution
    assert torch.allclose(weight.mT, expected[:5])
    assert torch.allclose(shift, expected[5] if bias else torch.zeros(2, dtype=torch.float64))


def test_a_refit_changes_the_last_layer_alone():
    subject = bar_subject()
    module, words = refitted(subject, subject.data, (0, 1, 2, 3))
    changed = [
        name
        for name, value in module.state_dict().items()
        if not torch.equal(value, subject.module.state_dict()[name])
    ]
    assert changed == ["3.weight", "3.bias"]
    assert "layer 3, 16 features" in words


def test_a_refit_of_vectors_is_the_least_squares_map_of_its_features():
    subject = tilt_subject(40)
    module, words = refitted(subject, subject.data, (0, 1, 2, 3))
    relative = float(words.rpartition(" ")[2])
    body = subject.module[:3]
    turns = [torch.tensor([[0.0, -1.0], [1.0, 0.0]]).matrix_power(k) for k in range(4)]
    with torch.no_grad():
        rows = torch.cat([body(subject.data.x.rot90(k, (1, 2))) for k in range(4)]).double()
    wanted = torch.cat([subject.data.targets @ turn.T for turn in turns]).double()
    weight, shift = ridge_solution(rows, wanted, relative * float(rows.square().mean()), True)
    assert torch.allclose(module[3].weight.double(), weight, atol=1e-4)
    assert torch.allclose(module[3].bias.double(), shift, atol=1e-4)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_scale_is_that_of_the_noise(outputs):
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(4000, outputs, dtype=torch.float64, generator=generator)
    noise = torch.rand(4000, outputs, dtype=torch.float64, generator=generator)
    if outputs == 1:
        wanted = 2.0 * (noise < logits.sigmoid()).double() - 1
    else:  # the largest of logits with Gumbel noise has the probabilities of softmax
        wanted = nn.functional.one_hot((logits - (-noise.log()).log()).argmax(1), 3).double()
    assert best_scale(logits / 7, wanted) == pytest.approx(7, rel=0.1)


def test_a_network_without_a_last_linear_layer_is_refused():
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 3), nn.Softmax(1))
    subject = audit_subject(net, bars(24), "C4 rotation")
    with pytest.raises(InputError, match="no linear layer gives its outputs"):
        refitted(subject, subject.data, (0, 1))


@pytest.mark.parametrize("penalty", [False, True])
def test_fine_tuning_makes_the_error_smaller(penalty):
    for subject in (bar_subject(), tilt_subject()):
        module, words = fine_tuned(
            subject, subject.data, (0, 1, 2, 3), penalty=penalty, seconds=600, seed=0, steps=200
        )
        x = subject.data.x
        errors = []
        for one in (subject.module, module):
            plain, turned = subject.outputs(x, one), subject.outputs(x.rot90(1, (1, 2)), one)
            spread = (plain - plain.mean(0)).norm()
            errors.append(float((subject.moved_back(1, turned) - plain).norm() / spread))
        assert errors[1] < 0.8 * errors[0]
        assert "200 steps of 32 samples" in words
        assert not module.training


def test_frozen_weights_stay_and_networks_without_weights_are_refused():
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 3))
    net[1].requires_grad_(False)
    subject = audit_subject(net, bars(24), "C4 rotation")
    module, _ = fine_tuned(subject, subject.data, (0, 1), penalty=False, seconds=0.1, seed=0)
    assert torch.equal(module[1].weight, net[1].weight)
    assert not torch.equal(module[3].weight, net[3].weight)
    frozen = audit_subject(net.requires_grad_(False), bars(24), "C4 rotation")
    with pytest.raises(InputError, match="frozen"):
        fine_tuned(frozen, frozen.data, (0, 1), penalty=False, seconds=0.1, seed=0)


def test_one_output_for_two_classes_is_fitted_too():
    data = bars(80, seed=2)
    two = LabelledData(data.x, (data.labels == 0).long(), "two", "drawn")
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, 1))
    with torch.no_grad():
        for k, weight in enumerate(net.parameters()):
            weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(k)) / 3)
    subject = audit_subject(net, two, "C4 rotation")
    for module, _ in (
        refitted(subject, two, (0, 1, 2, 3)),
        fine_tuned(subject, two, (0, 1, 2, 3), penalty=False, seconds=600, seed=0, steps=300),
    ):
        right = (subject.decisions(subject.outputs(two.x, module)) == two.labels).double().mean()
        assert float(right) > 0.85


def test_fine_tuning_leaves_the_random_numbers_of_others_alone():
    subject = bar_subject(24)
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    fine_tuned(subject, subject.data, (0, 1), penalty=False, seconds=0.05, seed=0)
    assert torch.equal(torch.rand(3), expected)
