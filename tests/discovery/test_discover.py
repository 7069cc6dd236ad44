"""All of discovery on one network, and its page."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.discovery import (
    LearningOptions,
    class_data,
    dataset,
    discover,
    gaussian_data,
    parameter_problem,
)
from symscope.discovery._discovery_page import discovery_page, generator_figure
from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery.fields import LinearField
from symscope.discovery.learned import ActionTraining
from symscope.errors import InputError


def test_a_linear_network_has_gl_and_its_page_says_so():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 3, bias=False))
    stages = []
    result = discover(
        parameter_problem(net, "squared", gaussian_data((2,), (3,))),
        seed=3,
        points=4,
        progress=lambda *now: stages.append(now),
    )
    assert result.exact.dimension == 4
    assert result.algebra is not None
    assert result.algebra.name == "gl(2)"
    assert len(result.conserved) == 3  # symmetric part of W1 W1^T - W2^T W2
    assert "4 continuous (gl(2)) linear symmetries" in result.answer()
    assert [(done, total) for _, done, total in stages] == [(0, 4), (1, 4), (2, 4)]
    page = discovery_page(result, "Mine")
    for words in ("<h1>Mine</h1>", "Lie algebra", "gl(2)", "mixing of unit", "chance of such a gap"):
        assert words in page
    assert result.learned is None
    assert "Learned symmetries" not in page


def test_an_algebra_too_large_to_name_is_left_out_and_the_rest_is_kept(monkeypatch):
    monkeypatch.setattr("symscope.discovery.exact._lie_algebra.LARGEST", 100)
    net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Linear(3, 1, bias=False))
    result = discover(parameter_problem(net, "mse", gaussian_data((2,), (1,))), seed=0, points=4)
    assert result.algebra is None
    assert len(result.tests) == result.exact.dimension == 3
    assert "3 continuous (a Lie algebra too large to name) linear symmetries" in result.answer()
    page = discovery_page(result, "Mine")
    assert ">too large to name<" in page
    assert "rescaling of unit 0" in page


@pytest.mark.parametrize(
    ("rows", "said"), [(1, "hold on held-out parameters."), (2, "hold on held-out parameters and data.")]
)
def test_what_holds_on_rows_it_was_found_on_is_not_said_to_be_held_out(rows, said):
    x = torch.eye(2, dtype=torch.float64)[:rows]
    net = nn.Linear(2, 1, bias=False)
    result = discover(parameter_problem(net, "squared", dataset(x, x[:, :1])), seed=0, points=8)
    assert result.answer().endswith(said)
    held = sum(test.holds for test in result.tests)
    assert (held == len(result.tests) > 0) == (rows == 1)  # of one row, the weight of the zero is free


def test_translations_and_learned_fields_are_on_the_page():
    made = parameter_problem(nn.Linear(2, 2), "cross-entropy", class_data((2,), 2))
    short = ActionTraining(steps=2, points=20, held_out=8, minibatch=8)
    learning = LearningOptions(2, seeds=2, training=short, flow_steps=1)
    result = discover(made, seed=0, points=4, learning=learning)
    assert len(result.exact.translations) == 3
    assert [len(tests) for tests in result.learned_tests] == [2, 2]
    page = discovery_page(result, "Mine")
    assert "Learned symmetries" in page
    assert "3 translations" in result.answer()


def test_a_network_without_symmetries():
    result = discover(
        parameter_problem(nn.Linear(2, 1, bias=False), "squared", gaussian_data((2,), (1,))), seed=0
    )
    assert result.algebra is None
    assert result.tests == ()
    page = discovery_page(result, "Mine")
    assert "no continuous linear symmetry" in page
    assert "No layer of this model is in the catalogue" in page


class Residual(nn.Module):
    """Any invertible matrix can be put into the stream: four symmetries beside the two rescalings."""

    def __init__(self):
        super().__init__()
        shapes = ((2, 2), (2, 2), (2, 2), (2, 2))
        self.first, self.into, self.back, self.last = (nn.Linear(*s, bias=False) for s in shapes)

    def forward(self, x):
        stream = self.first(x)
        return self.last(stream + self.back(torch.relu(self.into(stream))))


def test_what_the_layers_miss_of_a_residual_stream_is_said():
    made = parameter_problem(Residual(), "squared", gaussian_data((2,), (2,)))
    whole, layers = (discover(made, seed=0, points=4, method=method) for method in ("all", "layers"))
    assert (whole.exact.dimension, whole.directions, whole.most_directions) == (6, 6, 6)
    assert "have 6 continuous" in whole.answer()
    assert "no others that keep every loss" in discovery_page(whole, "Mine")
    assert (layers.exact.complete, layers.most_directions) == (False, 6)
    assert layers.directions == layers.exact.dimension < 6
    said = f"Those found move parameters in {layers.directions} of at most 6 directions"
    assert "have at least" in layers.answer()
    assert said in layers.answer()
    assert said in discovery_page(layers, "Mine")


def test_what_holds_only_where_the_search_looked_is_not_counted():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU6(), nn.Linear(3, 2))  # rarely above 6 at random parameters
    result = discover(parameter_problem(net, "squared", gaussian_data((2,), (2,))), seed=0)
    assert [test.holds for test in result.tests] == [False, False]
    assert result.exact.dimension == 0
    assert result.algebra is None
    assert "have 0 continuous linear symmetries and 2 known" in result.answer()
    assert "0 of 2 tested ones hold" in result.answer()
    assert "Not counted: fields the search gave" in discovery_page(result, "Mine")


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_a_network_without_forward_derivatives():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    made = parameter_problem(
        nn.Sequential(layer, nn.Linear(1, 1, bias=False)), "squared", gaussian_data((2,), (1,))
    )
    result = discover(made, seed=0, points=4)
    assert result.exact.dimension == 2  # the scale of the direction, and size against the layer after
    assert all(test.holds for test in result.tests)


def test_heat_maps_are_labelled_by_parameters_and_show_constants():
    layout = ParameterLayout(("a.weight", "a.bias"), ((2, 2), (2,)))
    matrix = torch.tensor([[1.0, 0.0], [0.5, -1.0]], dtype=torch.float64)
    field = LinearField(torch.tensor([1, 4]), matrix, torch.tensor([0.0, 2.0], dtype=torch.float64), "mine")
    figure = generator_figure([field], layout)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a.weight[0,1]", "a.bias[0]"]
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "a.weight[0,1]",
        "a.bias[0]",
        "constant",
    ]
    drawn = axes.images[0].get_array()
    assert drawn.tolist() == [[0.5, 0.0, 0.0], [0.25, -0.5, 1.0]]  # over the largest, 2


def test_impossible_learning_is_refused():
    made = parameter_problem(nn.Linear(2, 1, bias=False), "squared", gaussian_data((2,), (1,)))
    with pytest.raises(InputError, match="a positive tolerance and a seed"):
        discover(made, seed=0, points=2, learning=LearningOptions(1, tolerance=0.0))
