"""Kernels against dense regression: pairs of classes, transformations left out in turn, channels, pooling."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.data import LabelledData
from symscope.forecasting._kernel_choice import default_per_class, leading_data_part, tangent_kernel
from symscope.forecasting._kernel_prediction import class_pairs, resample_prediction
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample
from symscope.kernels import infinite_width
from symscope.networks import user_model
from symscope.spectral.dense import regression
from tests.forecasting.problems import blobs, small_net
from tests.tolerances import DENSE_PREDICTION


def random_gram(resample, seed=0):
    """A kernel that respects no symmetry at all."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(36, 200, generator=generator, dtype=torch.float64)
    features = torch.relu(resample.flat.flatten(1) @ weights)
    return features @ features.T / 200


def test_every_transformation_is_left_out_in_turn_without_assuming_symmetry():
    question = as_question(blobs(items=5), "C4")
    resample = draw_resample(question, 4, 0)
    gram = random_gram(resample)
    result = resample_prediction(gram, resample, question.group)
    labels = resample.one_hot.repeat_interleave(4, 0)
    for c in range(3):
        for g in range(4):
            at = (resample.labels == c).nonzero()[:, 0] * 4 + g
            predicted = regression(gram, labels, at, ridge=0.0)
            assert result.table[c, g] == (predicted.argmax(1) == c).double().mean()
    assert result.invariance_error > 0.01
    assert torch.allclose(result.confusion.sum(1), torch.ones(3, dtype=torch.float64))
    assert torch.equal(result.confusion.diagonal(), result.accuracy)
    assert bool(((result.margin > 0) == result.correct).all())


def test_pairs_are_problems_of_two_classes():
    question = as_question(blobs(items=5), "C4")
    resample = draw_resample(question, 3, 1)
    gram = tangent_kernel(user_model(small_net, (6, 6), 3), (6, 6)).kernel(0)(resample.flat)
    result = class_pairs(gram, resample, question.group, ridge=0.0)
    rows = torch.arange(36).reshape(9, 4)
    both = torch.cat([rows[resample.labels == 0], rows[resample.labels == 2]]).flatten()
    signs = torch.cat([torch.ones(12), -torch.ones(12)]).double()
    predicted = regression(gram[both][:, both], signs, torch.tensor([0, 4, 8]), ridge=0.0)
    assert float(result.error[0, 2]) == pytest.approx(float((1 - predicted).mean()), abs=DENSE_PREDICTION)
    assert bool(result.error.diagonal().isnan().all())
    centres = resample.points.mean(1).flatten(1)
    apart = (centres[resample.labels == 0][:, None] - centres[resample.labels == 1][None]).square().sum(
        -1
    ).mean() / 36
    assert float(result.separation[0, 1]) == pytest.approx(float(apart))
    radius = (resample.points.flatten(2) - centres[:, None]).norm(dim=2)[resample.labels == 1].mean() / 6
    assert float(result.density[1]) == pytest.approx(1 / float(radius))


def test_pooling_the_data_first_changes_no_number():
    net = nn.Sequential(
        nn.AvgPool2d(2),
        nn.Conv2d(1, 3, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(3, 3),
    )
    resample = draw_resample(as_question(blobs(), "C4"), 2, 0)
    tangent = tangent_kernel(user_model(net, (6, 6), 3), (6, 6))
    whole = infinite_width(net, parameterisation="standard").ntk(resample.flat[:, None])
    assert torch.allclose(tangent.kernel(0)(resample.flat), whole, rtol=1e-10)
    assert torch.allclose(tangent.kernel(0)(resample.flat[:3], resample.flat), whole[:3], rtol=1e-7)
    before, rest = leading_data_part(net)
    assert (len(before), len(rest)) == (1, 5)
    assert tangent.entry > 81 * 3  # all pairs of 9 positions, in every layer before the pooling
    assert default_per_class(tangent, 3, 4, 4, 1.0) == 4
    assert default_per_class(tangent, 300, 64, 400, 1e-3) == 2


def test_a_kernel_that_takes_too_long_is_replaced_by_the_network_s_own():
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(18, 3)
    )
    model = user_model(net, (6, 6), 3)
    assert tangent_kernel(model, (6, 6), "auto", 24).kind == "infinite"
    result = tangent_kernel(model, (6, 6), "auto", 24, effort=1e-6)
    assert result.kind == "finite"
    assert "times the budget" in result.reason
    assert tangent_kernel(model, (6, 6), "infinite", 24, effort=1e-6).kind == "infinite"


def test_channels_move_together():
    x = torch.rand(6, 2, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    question = as_question(LabelledData(x, torch.arange(6) % 2, "two", "tests"), "C4", standardise=False)
    resample = draw_resample(question, 3, 0)
    assert resample.points.shape == (6, 4, 2, 5, 5)
    assert torch.equal(resample.points[1, 3], torch.rot90(resample.points[1, 0], 3, (-2, -1)))


def test_graphs_under_permutations_of_their_nodes():
    upper = torch.rand(40, 4, 4, generator=torch.Generator().manual_seed(0)).round().triu(1).double()
    graphs = LabelledData(upper + upper.mT, torch.arange(40) % 2, "graphs", "random")
    question = as_question(graphs, "C4 nodes")
    assert not question.standardised
    resample = draw_resample(question, 3, 0)
    permuted = resample.points[0, 1]
    p = question.group.permutations[1]
    assert torch.equal(permuted[p][:, p], resample.points[0, 0])
