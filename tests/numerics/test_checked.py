"""What annotations promise is checked, in the caller's words, and nothing else is changed."""

from __future__ import annotations

import inspect
import json
import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import checked, may_be_infinite
from symscope.spectral.dense import leave_out_residual
from tests.shapes import annotations_unchecked

SQUARE, LABELS = torch.tensor([[2.0, 1.0], [0.5, 3.0]]), torch.tensor([1.0, -2.0])


@checked
def quantity(
    gram: Float[Tensor, "n n"],
    labels: Float[Tensor, "n *c"],
    count: int = 1,
    scale: float = 1.0,
    rows: Int64[Tensor, "k"] | None = None,
    parts: list[Float[Tensor, "_ m"]] | None = None,
    pair: tuple[int, float] | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """What it says.

    >>> quantity(torch.eye(1), torch.ones(1)).item()
    1.0
    """
    return scale * gram.max() * labels.flatten(1 if labels.ndim > 1 else 0).sum(-1).max()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gram": torch.ones(2, 3)}, r"gram: expected floating-point numbers of shape \[n, n\]"),
        ({"gram": SQUARE.long()}, "gram: expected floating-point numbers .* got torch.int64"),
        ({"gram": SQUARE.to(torch.complex64)}, "gram: expected floating-point .* got torch.complex64"),
        ({"gram": SQUARE > 0}, "gram: expected floating-point numbers .* got torch.bool"),
        ({"gram": [[1.0]]}, "gram: expected floating-point numbers .* got list"),
        ({"labels": torch.tensor([1.0, math.nan])}, r"labels: expected finite numbers, .* index \(1,\)"),
        ({"gram": SQUARE.to("meta")}, "gram: expected a dense tensor, got a tensor without data"),
        ({"gram": SQUARE.to_sparse()}, "gram: expected a dense tensor, got a tensor of layout"),
        ({"gram": torch.ones(0, 0), "labels": torch.ones(0)}, "gram: expected at least one number"),
        ({"pair": (1, 2, 3)}, "pair: expected tuple of an integer of 64 bits or None, got tuple"),
        ({"count": 1.5}, "count: expected an integer of 64 bits, got 1.5"),
        ({"count": 2**63}, "count: expected an integer of 64 bits, got 9223372036854775808"),
        ({"count": True}, "count: expected an integer of 64 bits, got True"),
        ({"scale": math.nan}, "scale: expected a number, got nan"),
        ({"scale": "2"}, "scale: expected a number, got '2'"),
        ({"rows": torch.ones(2)}, r"rows: expected int64 numbers of shape \[k\] or None"),
        ({"device": "a/b"}, "device: expected .* got 'a/b'"),
        ({"dtype": torch.int64}, "dtype: expected a floating-point dtype"),
    ],
)
def test_wrong_arguments_are_refused_by_name(given, message):
    with pytest.raises(InputError, match=message) as caught:
        quantity(**{"gram": SQUARE, "labels": LABELS, **given})
    assert "\n" not in str(caught.value)


def test_right_arguments_reach_the_function():
    assert quantity(SQUARE, LABELS) == quantity.__wrapped__(SQUARE, LABELS)
    torch.testing.assert_close(quantity(SQUARE, torch.ones(2, 5), 3, scale=2), torch.tensor(30.0))
    quantity(SQUARE, LABELS, rows=torch.tensor([0]), parts=[torch.ones(1, 2), torch.ones(4, 2)], device="cpu")


def test_a_failure_elsewhere_is_not_blamed_on_the_caller():
    @checked
    def faulty(x: Tensor, text: str = "a fault of the program") -> Tensor:
        return json.loads(text)

    with pytest.raises(json.JSONDecodeError):
        faulty(torch.ones(2))
    with pytest.raises(InputError, match=r"x: expected at least one number, got .* of shape \(0,\)"):
        faulty(torch.ones(0))


def test_an_error_of_the_callers_own_function_stays_as_it_is():
    """It is not told as a fault of an argument beside it, such as a mask of booleans."""
    own: dict = {"__name__": "users_network"}
    exec("def forward(x):\n    return {}['missing']\n", own)
    with pytest.raises(KeyError, match="missing"):
        value_at_ones(own["forward"], torch.ones(3, dtype=torch.bool))


@checked
def value_at_ones(function: Callable[[Tensor], Tensor], kept: Bool[Tensor, "n"]) -> Tensor:
    return function(torch.ones(2))


@checked
class Rows:
    """Rows of a matrix."""

    def __init__(self, matrix: Float[Tensor, "n d"]) -> None:
        self.matrix = matrix + torch.zeros(2)

    def rows(self, places: Int64[Tensor, "k"], scale: float = 1.0) -> Tensor:
        return scale * self.matrix[places]

    @contextmanager
    def lent(self) -> Iterator[Tensor]:
        yield self.matrix

    @may_be_infinite
    def inverse(self) -> Tensor:
        return 1 / self.matrix


def test_what_pytorch_refuses_in_a_method_is_told_with_the_arguments():
    rows = Rows(SQUARE)
    torch.testing.assert_close(rows.rows(torch.tensor([1])), SQUARE[1:])
    with pytest.raises(
        InputError, match=r"Rows.rows: expected arguments that fit, .*IndexError: index 7 is out"
    ):
        rows.rows(torch.tensor([7]))
    with pytest.raises(InputError, match=r"places: expected int64 numbers of shape \[k\]"):
        rows.rows(torch.tensor([0.5]))
    with pytest.raises(InputError, match=r"matrix: expected .* \[n, d\]|Rows: expected arguments that fit"):
        Rows(torch.ones(5, 3))
    with rows.lent() as matrix:
        assert matrix is rows.matrix
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        rows.rows()


def test_a_result_must_be_finite_unless_it_is_said_that_it_need_not():
    rows = Rows(torch.tensor([[1e30, 1.0], [0.0, 2.0]]))
    with pytest.raises(InputError, match=r"Rows.rows: expected numbers of moderate size, .* scale them"):
        rows.rows(torch.tensor([0]), scale=1e30)
    with pytest.raises(InputError, match="scale: expected a finite number, got inf"):
        rows.rows(torch.tensor([0]), scale=math.inf)
    assert rows.inverse()[1, 0] == math.inf


def test_numbers_that_overflow_inside_are_not_said_to_be_given():
    @checked
    def outer(x: Tensor) -> Tensor:
        return quantity(torch.diag(x * x), x)

    with pytest.raises(
        InputError, match=r"outer: expected numbers of moderate size, .*\(gram: expected finite"
    ):
        outer(torch.tensor([1e30, 1.0]))
    with pytest.raises(InputError, match=r"^x: expected finite numbers"):
        outer(torch.tensor([math.inf, 1.0]))


def test_a_full_device_is_not_blamed_on_an_argument():
    @checked
    def fills(x: Tensor) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        fills(torch.ones(1, 16, dtype=torch.bfloat16))


def test_transforms_and_gradients_pass_through():
    one = quantity(SQUARE, LABELS)
    many = torch.func.vmap(lambda gram: quantity(gram, LABELS))(torch.stack([SQUARE, 2 * SQUARE]))
    torch.testing.assert_close(many, torch.stack([one, 2 * one]))
    slope = torch.func.grad(lambda y: quantity(SQUARE, y))(LABELS)
    torch.testing.assert_close(slope, torch.full((2,), float(SQUARE.max())))


def test_the_function_keeps_its_name_signature_and_home():
    assert inspect.signature(quantity) == inspect.signature(quantity.__wrapped__)
    assert quantity.__globals__ is globals()  # where doctest looks
    assert pickle.loads(pickle.dumps(quantity)) is quantity


def test_one_name_is_one_size_over_all_arguments():
    with annotations_unchecked():  # they compare sizes within every single function
        with pytest.raises(InputError, match="3"):
            leave_out_residual(torch.eye(2), torch.ones(3), torch.tensor([0]))
        expected = r"missing: expected int64 numbers of shape \[m\], got torch.float32 of shape \(1,\)"
        with pytest.raises(InputError, match=expected):
            leave_out_residual(torch.eye(2), torch.ones(2), torch.tensor([0.5]))
