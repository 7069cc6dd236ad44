"""Terms of the objective against the formulas written out, one point at a time."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.discovery import gaussian_data, parameter_problem
from symscope.discovery.learned._action_networks import LinearAction, MLPAction
from symscope.discovery.learned._objective import (
    DATA_DEPENDENT,
    TERMS,
    LearningObjective,
    StepDraw,
    TermWeights,
    all_pairs,
    objective_terms,
)
from symscope.discovery.learned._parameter_action import (
    action_data,
    bracket_defect,
    eq7_defect,
    identity_and_fields,
    integrated_defect,
)
from symscope.discovery.loss_derivatives import point_gradients
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from tests.tolerances import ROUNDING


@pytest.fixture(scope="module")
def setting():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Tanh(), nn.Linear(2, 1, bias=False))
    made = parameter_problem(net, "squared", gaussian_data((2,), (1,)))
    sample = made.random_points(5, 3, seed=4)
    torch.manual_seed(0)
    action = MLPAction(6, 9, hidden=(8,)).double().requires_grad_(False)
    h = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / 3
    return made, action, h, sample, action_data(sample.theta, sample.x, sample.y, True)


def terms_of(setting, objective, **more):
    made, action, h, sample, data = setting
    draw = StepDraw(all_pairs(objective, 3), torch.tensor([0.3, -0.7, 1.0], dtype=torch.float64))
    return objective_terms(objective, made, action, h, sample, data, draw, every=True, **more)


def test_infinitesimal_terms_are_the_formulas(setting):
    made, action, h, sample, data = setting
    terms = terms_of(setting, LearningObjective(beta=0.4))
    identity, invariance, norm = torch.eye(6, dtype=torch.float64), [], []
    for b in range(5):
        jacobian = torch.autograd.functional.jacobian(
            lambda g, b=b: action(g, sample.theta[b : b + 1], data[b : b + 1])[0], identity
        )
        slope = torch.autograd.functional.jacobian(
            lambda point, b=b: made.losses(point, sample.x[b], sample.y[b]), sample.theta[b]
        )
        for generator in h:
            field = torch.einsum("iab,ab->i", jacobian, generator)
            invariance.append((slope @ field).abs().mean())
            norm.append((0.4 - field.norm()).abs())
    assert abs(float(terms["invariance"] - torch.stack(invariance).mean())) < ROUNDING
    assert abs(float(terms["norm"] - torch.stack(norm).mean())) < ROUNDING
    moved = action(identity, sample.theta, data) - sample.theta
    assert abs(float(terms["identity"] - moved.norm(dim=1).mean())) < ROUNDING
    assert abs(float(terms["sparsity"] - h.abs().sum() / 3)) < ROUNDING
    pairs = [(0, 1), (0, 2), (1, 2)]
    defects = [bracket_defect(action, h[i], h[j], sample.theta, data).norm(dim=1).mean() for i, j in pairs]
    assert abs(float(terms["axiom"] - torch.stack(defects).mean())) < ROUNDING
    cosines = [torch.cosine_similarity(h[i].flatten(), h[j].flatten(), 0) for i, j in pairs]
    assert abs(float(terms["orthogonality"] - torch.stack(cosines).square().mean())) < ROUNDING


def test_known_gradients_give_the_same_invariance(setting):
    made, _, _, sample, _ = setting
    plain = terms_of(setting, LearningObjective())["invariance"]
    known = terms_of(setting, LearningObjective(), gradients=point_gradients(made, sample))["invariance"]
    assert abs(float(plain - known)) < ROUNDING


def test_cosines_do_not_change_when_generators_or_losses_are_scaled(setting):
    made, action, h, sample, data = setting
    gradients = point_gradients(made, sample)
    objective = LearningObjective(invariance="cosine")
    draw = StepDraw(all_pairs(objective, 3), torch.ones(3, dtype=torch.float64))
    values = [
        objective_terms(objective, made, action, scale * h, sample, data, draw, gradients=given)["invariance"]
        for scale, given in ((1, None), (1, gradients), (0.01, gradients), (1, 7 * gradients))
    ]
    _, fields = identity_and_fields(action, h, sample.theta, data)
    cosines = [
        torch.cosine_similarity(gradients[b, d], fields[k, b], 0).abs()
        for k in range(3)
        for b in range(5)
        for d in range(3)
    ]
    for value in values:
        assert abs(float(value - torch.stack(cosines).mean())) < ROUNDING


def test_eq7_looks_at_all_pairs_and_signed_cosines_keep_their_sign(setting):
    _, action, h, sample, data = setting
    terms = terms_of(setting, LearningObjective(axiom="eq7", orthogonality="signed"))
    defects = [eq7_defect(action, a, b, sample.theta, data).norm(dim=1).mean() for a in h for b in h]
    assert abs(float(terms["axiom"] - torch.stack(defects).mean())) < ROUNDING
    unit = h.flatten(1) / h.flatten(1).norm(dim=1, keepdim=True)
    assert abs(float(terms["orthogonality"] - ((unit @ unit.T).sum() - 3) / 6)) < ROUNDING


def test_integrated_terms_are_the_formulas(setting):
    made, action, h, sample, data = setting
    terms = terms_of(setting, LearningObjective(form="integrated"))
    changes = []
    for generator, time in zip(h, (0.3, -0.7, 1.0), strict=True):
        there = action(torch.linalg.matrix_exp(time * generator), sample.theta, data)
        for b in range(5):
            after = made.losses(there[b], sample.x[b], sample.y[b])
            changes.append(after - made.losses(sample.theta[b], sample.x[b], sample.y[b]))
    assert abs(float(terms["invariance"] - torch.stack(changes).abs().mean())) < ROUNDING
    defects = [integrated_defect(action, a, b, sample.theta, data).norm(dim=1).mean() for a in h for b in h]
    assert abs(float(terms["axiom"] - torch.stack(defects).mean())) < ROUNDING


def test_true_symmetries_have_no_invariance_and_no_axiom_term():
    """gl(2) on a linear two-layer network: E_ij -> (-W2 E_ij, E_ij W1)."""
    net = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 2, bias=False))
    made = parameter_problem(net, "squared", gaussian_data((3,), (2,)))
    sample, generators = made.random_points(6, 4, seed=0), []
    for i in range(2):
        for j in range(2):
            unit = torch.zeros(2, 2, dtype=torch.float64)
            unit[i, j] = 1
            first = torch.kron(unit, torch.eye(3, dtype=torch.float64))
            second = -torch.kron(torch.eye(2, dtype=torch.float64), unit.T.contiguous())
            generators.append(torch.block_diag(first, second))
    h = torch.stack(generators)
    for form in ("infinitesimal", "integrated"):
        objective = LearningObjective(form=form)
        draw = StepDraw(all_pairs(objective, 4), torch.full((4,), 0.6, dtype=torch.float64))
        terms = objective_terms(objective, made, LinearAction(), h, sample, sample.theta[:, :0], draw)
        assert max(float(terms[name]) for name in ("invariance", "identity", "axiom")) < 1e-11
    paper = LearningObjective(axiom="eq7")
    draw = StepDraw(all_pairs(paper, 4), draw.times)
    left = objective_terms(paper, made, LinearAction(), h, sample, sample.theta[:, :0], draw)
    assert float(left["axiom"]) > 0.1


def test_one_generator_has_no_pairs_and_weight_zero_is_left_out(setting):
    made, action, h, sample, data = setting
    objective = LearningObjective(TermWeights(sparsity=0.0))
    draw = StepDraw(all_pairs(objective, 1), torch.ones(1, dtype=torch.float64))
    terms = objective_terms(objective, made, action, h[:1], sample, data, draw)
    assert set(terms) == set(TERMS) - {"sparsity"}
    assert float(terms["axiom"]) == float(terms["orthogonality"]) == 0
    total = objective.total(terms)
    assert abs(float(total - 10 * terms["invariance"] - terms["identity"] - terms["norm"])) < ROUNDING


def test_orthogonality_of_fields_sees_what_generators_hide(setting):
    """Generators that differ only where the action forgets them: orthogonal matrices, equal fields."""
    made, _, _, sample, _ = setting
    h = torch.zeros(2, 6, 6, dtype=torch.float64)
    h[0, 0, 0] = h[1, 0, 0] = 1.0
    h[0, 5, 5], h[1, 5, 5] = 1.0, -1.0
    forgetful = lambda g, theta, data: theta * g[..., 0, 0]  # noqa: E731
    for name, expected in (("squared", 0.0), ("fields", 1.0)):
        objective = LearningObjective(orthogonality=name)
        draw = StepDraw(all_pairs(objective, 2), torch.ones(2, dtype=torch.float64))
        terms = objective_terms(objective, made, forgetful, h, sample, sample.theta[:, :0], draw)
        assert abs(float(terms["orthogonality"]) - expected) < ROUNDING


def test_pointwise_orthogonality_sees_a_field_and_a_function_times_it(setting):
    """Fields 1 and theta_0 in one direction: orthogonal as functions, parallel at every point."""
    made, _, _, sample, _ = setting
    sample = ParameterPoints(
        torch.cat([sample.theta, -sample.theta]), sample.x.repeat(2, 1, 1), sample.y.repeat(2, 1, 1)
    )
    h = torch.zeros(3, 6, 6, dtype=torch.float64)
    h[0, 0, 0], h[1, 1, 1] = 1.0, 1.0
    h[2, 2, 2] = 2.0
    e0, e1 = torch.eye(6, dtype=torch.float64)[:2]

    def action(g, theta, data):
        moved = theta + (g[0, 0] - 1) * e0 + (g[1, 1] - 1) * theta[:, :1] * e0
        return moved + (g[2, 2] - 1) * (e0 + e1)

    for name, expected in (("fields", (0 + 0.5 + 0) / 3), ("pointwise", (1 + 0.5 + 0.5) / 3)):
        objective = LearningObjective(orthogonality=name)
        draw = StepDraw(all_pairs(objective, 3), torch.ones(3, dtype=torch.float64))
        terms = objective_terms(objective, made, action, h, sample, sample.theta[:, :0], draw)
        assert abs(float(terms["orthogonality"]) - expected) < ROUNDING


def test_the_papers_weights():
    assert TermWeights() == TermWeights(10, 1, 1, 1, 1, 0.1)
    assert TermWeights(1, 10, 1, 10, 1, 0.1) == DATA_DEPENDENT


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"form": "integral"}, "form: unknown 'integral'; did you mean 'integrated'"),
        ({"axiom": "eq8"}, "axiom: unknown 'eq8'; did you mean 'eq7'"),
        ({"invariance": "eq6"}, "invariance: unknown 'eq6'"),
        ({"orthogonality": "cosine"}, "orthogonality: unknown 'cosine'"),
        ({"beta": 0.0}, "beta and time: expected positive"),
        ({"time": -1.0}, "beta and time: expected positive"),
    ],
)
def test_impossible_objectives_are_refused(bad, words):
    with pytest.raises(InputError, match=words):
        LearningObjective(**bad)


def test_negative_weights_are_refused():
    with pytest.raises(InputError, match="weight of norm: expected a number of 0 or more, got -1"):
        TermWeights(norm=-1.0)
