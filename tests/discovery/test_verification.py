"""Held-out verification: true symmetries pass, near misses do not, and the figures are what they say."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery import verify
from symscope.discovery._verification import SymmetryVerdict, failing_share
from symscope.discovery.candidates import OneParameterAction, Transformation, signed_permutation
from symscope.discovery.fields import FunctionField, linear_field
from symscope.discovery.loss_derivatives import point_gradients
from tests.discovery.networks import chain, random_linear_field, two_layers


def _rescaling(h: int, n: int, m: int, unit: int, power: float = 1.0):
    """Grows row `unit` of W1 and shrinks column `unit` of W2 by a power of it."""
    full = torch.zeros(h * n + m * h, dtype=torch.float64)
    full[unit * n : (unit + 1) * n] = 1
    full[h * n + unit :: h] = -power
    return linear_field(torch.diag(full), name="rescaling")


def test_a_rescaling_of_relu_passes_with_all_its_figures():
    made = two_layers(2, 3, 4, "relu")
    result = verify(made, _rescaling(3, 4, 2, unit=1), seed=0, points=59)
    assert result.verdict is SymmetryVerdict.SYMMETRY
    assert result.holds
    assert max(result.loss_drift, result.output_drift, result.group_law, result.derivative) < 1e-12
    assert result.random_loss_drift > 0.1
    assert result.random_output_drift > 0.1
    assert result.data_dependence == 0
    assert result.other_data_drift < 1e-12
    assert result.failures == 0
    assert result.failing_share == pytest.approx(0.05, abs=1e-3)  # the rule of three: 59 points, 95 %
    assert result.chance == 1 / 20
    assert max(drift for _, drift in result.batch_drifts) <= result.tolerance
    assert str(result).startswith("rescaling: symmetry; loss drift")


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_the_same_rescaling_fails_for_smooth_activations(activation):
    result = verify(two_layers(2, 3, 4, activation), _rescaling(3, 4, 2, unit=1), seed=0)
    assert not result.holds
    assert result.loss_drift > 1e-2


def test_near_misses_are_told_from_symmetries():
    made = two_layers(2, 3, 4, "relu")
    near = verify(made, _rescaling(3, 4, 2, unit=1, power=1.001), seed=0)
    assert near.verdict is SymmetryVerdict.APPROXIMATE
    assert near.loss_drift > near.tolerance
    assert verify(made, _rescaling(3, 4, 2, 1, 1.001), seed=0, tolerance=0.1).holds
    wrong = verify(made, random_linear_field(made.size, seed=3), seed=0)
    assert wrong.verdict is SymmetryVerdict.NONE
    assert wrong.failing_share == 1.0
    assert verify(made, linear_field(0 * torch.eye(18).double()), seed=0).verdict is SymmetryVerdict.TRIVIAL


def test_sign_flips_and_permutations():
    made = two_layers(1, 2, 2, "tanh")
    flip = torch.tensor([-1.0, -1, 1, 1, -1, 1])
    stay, swap = torch.arange(6), torch.tensor([2, 3, 0, 1, 5, 4])
    assert verify(made, signed_permutation(stay, flip, "flip"), seed=1).holds
    assert verify(made, signed_permutation(swap, torch.ones(6), "swap"), seed=1).holds
    half = verify(made, signed_permutation(stay, torch.tensor([-1.0, -1, 1, 1, 1, 1])), seed=1)
    assert not half.holds
    assert half.derivative is None
    assert half.group_law is None


def test_a_field_orthogonal_to_one_gradient_depends_on_data_and_on_the_batch_size():
    made = chain((2, 2, 1), "tanh")
    matrix = random_linear_field(made.size, seed=4).matrix

    def projected(theta, x, y):
        gradient = torch.func.grad(lambda point: made.losses(point, x[:1], y[:1])[0])(theta)
        start = matrix @ theta
        return start - gradient * (gradient @ start) / (gradient @ gradient)

    result = verify(
        made, FunctionField(projected, "projected"), seed=0, points=6, batch_sizes=(1,), lengths=(0.05,)
    )
    assert result.holds
    assert result.data_dependence > 0.01
    assert result.other_data_drift > 1e-3
    wider = verify(made, FunctionField(projected), seed=0, points=6, batch_sizes=(1, 2), lengths=(0.05,))
    assert not wider.holds
    assert [drift <= wider.tolerance for _, drift in wider.batch_drifts] == [True, False]


def test_an_action_that_breaks_the_group_law_is_seen():
    made = two_layers(1, 1, 1, "linear")

    def bent(t, theta, x, y):
        return theta * torch.stack([1 + t, 1 / (1 + t)])

    result = verify(made, OneParameterAction(bent, "bent"), seed=0)
    assert result.loss_drift < 1e-10  # every element is a symmetry, but t does not add up
    assert result.group_law > 1e-2


def test_the_derivative_is_the_cosine_with_the_gradient():
    made = two_layers(1, 2, 2, "tanh")

    def gradient(theta, x, y):
        return torch.func.grad(lambda point: made.losses(point, x, y).sum())(theta)

    result = verify(
        made, FunctionField(gradient, "ascent"), seed=0, points=4, batch_sizes=(1,), lengths=(0.01,)
    )
    assert result.derivative == pytest.approx(1)
    assert point_gradients(made, made.random_points(1, 1, 0)).norm() > 0


def test_failing_shares_are_exact_binomial_bounds():
    # at the bound p, seeing this few failures has probability 5 %
    p = failing_share(2, 30, 0.05)
    tail = sum(
        torch.exp(
            torch.lgamma(torch.tensor(31.0))
            - torch.lgamma(torch.tensor(k + 1.0))
            - torch.lgamma(torch.tensor(31.0 - k))
        ).item()
        * p**k
        * (1 - p) ** (30 - k)
        for k in range(3)
    )
    assert tail == pytest.approx(0.05, rel=1e-4)
    assert failing_share(5, 5, 0.05) == 1


def test_bad_settings_are_refused():
    made, field = two_layers(1, 1, 1, "linear"), _rescaling(1, 1, 1, 0)
    with pytest.raises(
        InputError, match=r"5 random fields cannot show an error level of 0\.05; use at least 19"
    ):
        verify(made, field, seed=0, random_fields=5)
    with pytest.raises(InputError, match="at least one point and batch sizes from 1"):
        verify(made, field, seed=0, batch_sizes=(0,))
    with pytest.raises(InputError, match="positive lengths and tolerance"):
        verify(made, field, seed=0, lengths=(-1.0,))
    with pytest.raises(InputError, match=r"not finite along its flow|could not be followed"):
        verify(made, FunctionField(lambda t, x, y: 1e3 * t**3, "wild"), seed=0)


def test_transformations_may_look_at_data():
    made = two_layers(1, 1, 1, "linear")
    by_input = Transformation(
        lambda t, x, y: t * torch.stack([1 + x[0, 0] ** 2, 1 / (1 + x[0, 0] ** 2)]), "x"
    )
    result = verify(made, by_input, seed=0)
    assert result.holds
    assert result.data_dependence > 0.1
