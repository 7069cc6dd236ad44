from __future__ import annotations

import math
import pickle

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from symscope import kernels
from symscope.errors import InputError
from symscope.kernels.activations import Dual, function_dual, is_activation, module_dual
from symscope.kernels.activations._error_function import ErfDual, GeluDual
from symscope.kernels.activations._exponential import ExpDual, GaussianDual
from symscope.kernels.activations._hermite import QuadratureDual
from symscope.kernels.activations._piecewise_linear import PiecewiseLinearDual
from symscope.kernels.activations._powers import MonomialDual, SignDual
from symscope.kernels.activations._trigonometric import SineDual
from symscope.kernels.infinite._operation_steps import activation_values
from tests.tolerances import ROUNDING

F64 = torch.float64
SMOOTH: list[Dual] = [
    ErfDual(1.0, 1.0, 0.0),
    ErfDual(0.5, 0.4, 0.3),
    GeluDual(),
    SineDual(1.0, 1.0, 0.0),
    SineDual(2.0, 1.5, 0.3),
    ExpDual(0.7, 0.3),
    GaussianDual(1.2, 0.6),
    MonomialDual(1),
    MonomialDual(2),
    MonomialDual(3),
    QuadratureDual(torch.tanh, 1024),
    QuadratureDual(nn.functional.silu, 1024),
    QuadratureDual(nn.functional.softplus, 1024),
]
KINKED: list[Dual] = [
    PiecewiseLinearDual(0.0, 1.0, 0.0),
    PiecewiseLinearDual(0.1, 1.0, 0.1),
    PiecewiseLinearDual(-1.0, 1.0, 0.0),
    PiecewiseLinearDual(-0.3, 0.8, 0.25),
    SignDual(),
]


def name_of(dual: Dual) -> str:
    return f"{dual.function.__name__}" if isinstance(dual, QuadratureDual) else str(dual)


def number(x: float) -> Tensor:
    return torch.tensor(x, dtype=F64)


def integrated(dual: Dual, k: float, q1: float, q2: float) -> tuple[float, float]:
    """Both expectations on a grid over the plane: spectrally accurate for smooth functions."""
    grid = torch.linspace(-9, 9, 361, dtype=F64)
    weight = torch.exp(-grid.square() / 2)
    weight = weight[:, None] * weight
    weight = weight / weight.sum()
    c = k / math.sqrt(q1 * q2)
    u = (math.sqrt(q1) * grid[:, None]).expand(361, 361).clone().requires_grad_()
    v = (math.sqrt(q2) * (c * grid[:, None] + math.sqrt(1 - c * c) * grid)).requires_grad_()
    left, right = activation_values(dual, u), activation_values(dual, v)
    (du,), (dv,) = torch.autograd.grad(left.sum(), u), torch.autograd.grad(right.sum(), v)
    return float((weight * left * right).sum().detach()), float((weight * du * dv).sum())


@pytest.mark.parametrize("dual", SMOOTH, ids=name_of)
@pytest.mark.parametrize(
    ("k", "q1", "q2"), [(0.3, 0.7, 1.4), (-0.5, 0.6, 0.5), (0.0, 1.3, 0.2), (1.1, 1.2, 1.3)]
)
def test_expectations_are_integrals(dual: Dual, k: float, q1: float, q2: float) -> None:
    value, slope = dual.covariance(number(k), number(q1), number(q2), True)
    expected = integrated(dual, k, q1, q2)
    assert float(value) == pytest.approx(expected[0], rel=1e-10, abs=1e-12)
    assert slope is not None
    assert float(slope) == pytest.approx(expected[1], rel=1e-10, abs=1e-12)
    assert dual.covariance(number(k), number(q1), number(q2), False)[1] is None


@pytest.mark.parametrize("dual", SMOOTH + KINKED, ids=name_of)
def test_variance_is_the_covariance_of_equals(dual: Dual) -> None:
    q = torch.tensor([0.2, 1.0, 3.7], dtype=F64)
    value, slope = dual.variance(q)
    k, slopes = dual.covariance(q.clone(), q, q, True)
    torch.testing.assert_close(value, k, rtol=1e-11, atol=0)
    torch.testing.assert_close(slope, slopes, rtol=1e-7, atol=0)
    assert torch.isfinite(dual.variance(torch.zeros(2, dtype=F64))[0]).all()


@pytest.mark.parametrize("dual", SMOOTH + KINKED, ids=name_of)
@given(st.floats(-0.99, 0.99), st.floats(0.05, 3.0), st.floats(0.05, 3.0))
def test_swapping_the_inputs_changes_nothing(dual: Dual, c: float, q1: float, q2: float) -> None:
    k = c * math.sqrt(q1 * q2)
    for one, two in zip(
        dual.covariance(number(k), number(q1), number(q2), True),
        dual.covariance(number(k), number(q2), number(q1), True),
        strict=True,
    ):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dual", SMOOTH + KINKED[:-1], ids=name_of)
def test_slopes_are_derivatives_with_respect_to_the_covariance(dual: Dual) -> None:
    """`d E[phi phi] / dk = E[phi' phi']` (Price's theorem), by central differences."""
    k, q1, q2, h = 0.31, 0.9, 1.2, 1e-5
    up, down = (dual.covariance(number(k + s * h), number(q1), number(q2), False)[0] for s in (1, -1))
    slope = dual.covariance(number(k), number(q1), number(q2), True)[1]
    assert slope is not None
    assert float(slope) == pytest.approx(float(up - down) / (2 * h), rel=1e-8, abs=1e-9)


def relu_exact(k: float, q1: float, q2: float) -> tuple[float, float]:
    with mpmath.workdps(50):
        root = mpmath.sqrt(mpmath.mpf(q1) * mpmath.mpf(q2))
        c = mpmath.mpf(k) / root
        b = mpmath.acos(-c)
        return float(root * (mpmath.sqrt(1 - c * c) + b * c) / (2 * mpmath.pi)), float(b / (2 * mpmath.pi))


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_relu_near_parallel_and_opposite_inputs(gap: float, sign: float) -> None:
    """Given k, an error of eps in the cosine c moves E[phi' phi'] by eps / sqrt(1 - |c|): no more is lost.

    E[phi phi] is good to rounding near c = 1; near c = -1 it is of size gap^1.5 and good to eps / gap.
    """
    eps = torch.finfo(F64).eps
    q1, q2 = 1.7, 0.6
    k = sign * math.sqrt(q1 * q2) * (1 - gap)
    value, slope = PiecewiseLinearDual(0.0, 1.0, 0.0).covariance(number(k), number(q1), number(q2), True)
    exact = relu_exact(k, q1, q2)
    assert slope is not None
    assert abs(float(slope) - exact[1]) < 8 * eps / math.sqrt(gap) + 4 * eps
    relative = 8 * eps if sign > 0 else 40 * eps / gap
    assert float(value) == pytest.approx(exact[0], rel=relative, abs=0)


def test_relu_in_single_precision_near_parallel_inputs() -> None:
    q = torch.tensor([1.7, 0.6])
    for gap in (1e-2, 1e-3, 1e-5):
        k = torch.sqrt(q[0] * q[1]) * (1 - gap)
        value, slope = PiecewiseLinearDual(0.0, 1.0, 0.0).covariance(k.clone(), q[0], q[1], True)
        exact = relu_exact(float(k), float(q[0]), float(q[1]))
        eps = torch.finfo(torch.float32).eps
        assert slope is not None
        assert float(value) == pytest.approx(exact[0], rel=8 * eps)
        assert abs(float(slope) - exact[1]) < 8 * eps / math.sqrt(gap)


@pytest.mark.parametrize("dual", KINKED[:4], ids=name_of)
def test_piecewise_linear_against_many_digits(dual: PiecewiseLinearDual) -> None:
    for k, q1, q2 in ((0.3, 0.7, 1.4), (-0.8, 1.0, 0.9)):
        relu = relu_exact(k, q1, q2)
        jump, product = (dual.above - dual.below) ** 2, dual.above * dual.below
        value, slope = dual.covariance(number(k), number(q1), number(q2), True)
        assert slope is not None
        assert float(value) == pytest.approx(jump * relu[0] + product * k, rel=1e-13)
        assert float(slope) == pytest.approx(jump * relu[1] + product, rel=1e-13)


def test_erf_with_huge_variances_keeps_its_digits() -> None:
    q, k = 1e8, 1e8 * (1 - 1e-6)
    value, _ = ErfDual(1.0, 1.0, 0.0).covariance(number(k), number(q), number(q), True)
    with mpmath.workdps(50):
        exact = 2 / mpmath.pi * mpmath.asin(2 * mpmath.mpf(k) / (1 + 2 * mpmath.mpf(q)))
    assert float(value) == pytest.approx(float(exact), rel=1e-12)


def test_sine_with_huge_variances_does_not_overflow() -> None:
    q = number(5000.0)
    value, slope = SineDual(1.0, 1.0, 0.3).covariance(number(4999.0), q, q, True)
    assert float(value) == pytest.approx(math.exp(-1) / 2, rel=1e-9)
    assert slope is not None
    assert float(slope) == pytest.approx(math.exp(-1) / 2, rel=1e-9)


def test_zero_variances_are_numbers_at_zero() -> None:
    """A pre-activation that is exactly zero: phi(0), phi'(0), whatever its partner does."""
    zero, one = number(0.0), number(1.0)
    for dual in [*SMOOTH, *KINKED]:
        at = torch.zeros((), dtype=F64, requires_grad=True)
        phi = activation_values(dual, at)
        (slope0,) = torch.autograd.grad(phi, at)
        value, slope = dual.covariance(zero.clone(), zero, zero, True)
        assert float(value) == pytest.approx(float(phi.detach()) ** 2, abs=1e-14)
        assert slope is not None
        if not isinstance(dual, PiecewiseLinearDual):
            assert float(slope) == pytest.approx(float(slope0) ** 2, abs=1e-12)
        assert torch.isfinite(dual.covariance(zero.clone(), zero, one, True)[0])


def test_modules_compute_what_their_duals_say() -> None:
    x = torch.linspace(-2, 2, 9, dtype=F64)
    result = [
        nn.ReLU(),
        nn.LeakyReLU(0.1),
        nn.GELU(),
        nn.GELU(approximate="tanh"),
        nn.Tanh(),
        nn.Sigmoid(),
        nn.SiLU(),
        nn.Mish(),
        nn.Softplus(2.0),
        nn.Softsign(),
        nn.Tanhshrink(),
        nn.LogSigmoid(),
        nn.ELU(0.7),
        nn.CELU(0.7),
        nn.SELU(),
        nn.Hardtanh(),
        nn.ReLU6(),
        nn.Hardswish(),
        nn.Hardsigmoid(),
        kernels.activations.Erf(0.5, 2.0, 0.1),
        kernels.activations.Sin(2.0, 0.5, 0.3),
        kernels.activations.Cos(2.0, 0.5, 0.3),
        kernels.activations.Abs(),
        kernels.activations.PiecewiseLinear(-0.3, 0.8),
        kernels.activations.Exp(0.5, 0.3),
        kernels.activations.Gaussian(0.5, 0.3),
        kernels.activations.Sign(),
        kernels.activations.Monomial(3),
        kernels.activations.Elementwise(torch.atan),
    ]
    for module in result:
        assert is_activation(module)
        dual = module_dual(module, 64)
        torch.testing.assert_close(activation_values(dual, x), module(x), rtol=ROUNDING, atol=1e-15)
        assert pickle.loads(pickle.dumps(dual)).variance(x.abs()) is not None


def test_functions_have_the_duals_of_their_modules() -> None:
    F = nn.functional
    pairs = [
        (torch.relu, (), {}, nn.ReLU()),
        ("relu", (), {}, nn.ReLU()),
        (F.leaky_relu, (0.3,), {}, nn.LeakyReLU(0.3)),
        (F.leaky_relu, (), {"negative_slope": 0.2}, nn.LeakyReLU(0.2)),
        (F.gelu, (), {}, nn.GELU()),
        (torch.tanh, (), {}, nn.Tanh()),
        (torch.erf, (), {}, kernels.activations.Erf()),
        (torch.cos, (), {}, kernels.activations.Cos()),
    ]
    for target, args, kwargs, module in pairs:
        assert function_dual(target, args, kwargs, 64) == module_dual(module, 64)
    x = torch.linspace(-2, 2, 9, dtype=F64)
    soft = function_dual(F.softplus, (2.0,), {}, 64)
    assert soft is not None
    torch.testing.assert_close(activation_values(soft, x), F.softplus(x, 2.0))
    assert function_dual(torch.sort, (), {}, 64) is None


@pytest.mark.parametrize(
    ("module", "match"),
    [
        (kernels.activations.Gaussian(1.0, -1.0), "b > 0"),
        (kernels.activations.Monomial(0), "degree >= 1"),
        (nn.MaxPool2d(2), "not a known activation"),
    ],
)
def test_bad_activations(module: nn.Module, match: str) -> None:
    with pytest.raises(InputError, match=match):
        module_dual(module, 64)
