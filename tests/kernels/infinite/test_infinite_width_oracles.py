"""Kernels of infinite width against stored numbers of another library, closed forms and many digits."""

from __future__ import annotations

import json

import mpmath
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from symscope import kernels
from symscope.kernels import infinite_width
from symscope.kernels.infinite import InfiniteWidth
from tests.kernels.infinite.test_infinite_width import points
from tests.kernels.oracle_networks import FIXTURES, DenseResidual, conv_net, fixture, images, mlp
from tests.tolerances import ORACLE, ORACLE_DIAGONAL, QUADRATURE, ROUNDING

MLP = fixture("mlp_random")
CONV = fixture("conv_random")


def assert_oracle(got: Tensor, reference: np.ndarray) -> None:
    error = (got - torch.from_numpy(reference)).abs() / torch.from_numpy(reference).abs()
    diagonal = torch.eye(len(error), dtype=torch.bool)
    assert error[~diagonal].max() < ORACLE
    assert error[diagonal].max() < ORACLE_DIAGONAL


def assert_exact_diagonal(kernel: InfiniteWidth, x: Tensor, nngp: Tensor, ntk: Tensor) -> None:
    torch.testing.assert_close(nngp.diagonal(), kernel.nngp.diagonal(x), rtol=ROUNDING, atol=0)
    torch.testing.assert_close(ntk.diagonal(), kernel.ntk.diagonal(x), rtol=ROUNDING, atol=0)


MLP_KEYS = sorted(
    k[4:]
    for k in MLP
    if k.startswith("ntk_") and not k.startswith(("ntk_relu_ln", "ntk_relu_res", "ntk_relu_st"))
)


@pytest.mark.parametrize("key", MLP_KEYS)
def test_mlp_matches_the_reference(key: str) -> None:
    bias = not key.endswith("_nobias")
    kernel = infinite_width(mlp(key.removesuffix("_nobias"), bias), w_std=1.3, b_std=0.2)
    x = torch.from_numpy(MLP["x1"])
    nngp, ntk = kernel.both(x)
    assert_oracle(nngp, MLP[f"nngp_{key}"])
    assert_oracle(ntk, MLP[f"ntk_{key}"])
    assert_exact_diagonal(kernel, x, nngp, ntk)


def norm_net() -> nn.Module:
    steps: list[nn.Module] = []
    for layer in range(3):
        steps += [nn.Linear(64 if layer else 10, 64), nn.LayerNorm(64, eps=1e-12), nn.ReLU()]
    return nn.Sequential(*steps, nn.Linear(64, 1))


def residual_net() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 64), DenseResidual(), DenseResidual(), nn.ReLU(), nn.Linear(64, 1))


@pytest.mark.parametrize(
    ("key", "net", "parameterisation"),
    [
        ("relu_ln", norm_net(), "ntk"),
        ("relu_res2", residual_net(), "ntk"),
        ("relu_standard64", mlp("relu"), "standard"),
    ],
)
def test_norm_residual_and_standard_match_the_reference(
    key: str, net: nn.Module, parameterisation: str
) -> None:
    kernel = infinite_width(net, parameterisation=parameterisation, w_std=1.3, b_std=0.2)
    nngp, ntk = kernel.both(torch.from_numpy(MLP["x1"]))
    assert_oracle(nngp, MLP[f"nngp_{key}"])
    assert_oracle(ntk, MLP[f"ntk_{key}"])


@pytest.mark.parametrize("key", json.loads((FIXTURES / "conv_random.json").read_text()))
def test_conv_matches_the_reference(key: str) -> None:
    kernel = infinite_width(conv_net(key), w_std=1.3, b_std=0.2)
    x = images(CONV[f"x_{key.split('__')[2]}"])
    nngp, ntk = kernel.both(x)
    assert_oracle(nngp, CONV[f"nngp_{key}"])
    assert_oracle(ntk, CONV[f"ntk_{key}"])
    if "12x12x3" not in key:
        assert_exact_diagonal(kernel, x, nngp, ntk)


@pytest.mark.parametrize("depth", [1, 5])
def test_mnist_rotations_match_the_reference_in_batches(depth: int) -> None:
    data = fixture("mlp_mnist_rotations")
    kernel = infinite_width(mlp("relu", depth=depth, inputs=784))
    x = torch.from_numpy(data["x"])
    for name, values in (("nngp", kernel.nngp.batched(x)), ("ntk", kernel.ntk.batched(x))):
        for got, reference in zip(values, data[f"{name}_L{depth}"], strict=True):
            assert_oracle(got, reference)


def pooled_or_flat(readout: str) -> nn.Module:
    body = [nn.Conv2d(1, 8, 3, padding=1, padding_mode="circular", bias=False), nn.ReLU()]
    if readout == "fc":
        return nn.Sequential(*body, nn.Flatten(), nn.Linear(8 * 784, 1, bias=False))
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1, bias=False))


@pytest.mark.parametrize("readout", ["fc", "gap"])
def test_convolved_mnist_rotations_match_the_reference(readout: str) -> None:
    """Blank patches are exactly parallel, so the reference carries its arccos noise off the diagonal too."""
    data = fixture("conv_mnist_rotations")
    chosen = slice(None) if readout == "fc" else slice(0, 5)  # pooling at 28 x 28 takes a while
    nngp, ntk = infinite_width(pooled_or_flat(readout)).both(images(data["x"])[chosen])
    for got, name in ((nngp, "nngp"), (ntk, "ntk")):
        reference = torch.from_numpy(data[f"{name}_k3_{readout}"][chosen, chosen])
        torch.testing.assert_close(got, reference, rtol=ORACLE_DIAGONAL, atol=0)


def test_parallel_patches_are_exact() -> None:
    """One convolution in 64-bit mantissas, written out, on images whose background is constant."""
    x = fixture("conv_mnist_rotations")["x"][:6, :, :, 0].astype(np.longdouble)
    shifts = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1)]
    patches = np.stack([np.roll(x, s, (1, 2)) for s in shifts], -1) / np.longdouble(3)
    K = np.einsum("ihwt,jhwt->ijhw", patches, patches)
    q = np.einsum("iihw->ihw", K)
    size = np.sqrt(q[:, None] * q[None])
    angle = np.arccos(np.clip(K / size, -1, 1))
    pi = np.arccos(np.longdouble(-1))
    slopes = (pi - angle) / (2 * pi)
    nngp = (size * np.sin(angle) + (pi - angle) * K) / (2 * pi)
    exact = (nngp + K * slopes).mean((2, 3))
    ntk = infinite_width(pooled_or_flat("fc")).ntk(torch.from_numpy(x.astype(np.float64))[:, None])
    torch.testing.assert_close(ntk, torch.from_numpy(exact.astype(np.float64)), rtol=ORACLE, atol=0)


def test_quadrature_agrees_with_closed_forms_and_knows_its_error() -> None:
    x = torch.from_numpy(MLP["x1"])
    for function, key in ((torch.erf, "erf"), (nn.functional.gelu, "gelu")):
        steps: list[nn.Module] = []
        for layer in range(3):
            steps += [nn.Linear(8 if layer else 10, 8), kernels.activations.Elementwise(function)]
        kernel = infinite_width(nn.Sequential(*steps, nn.Linear(8, 1)), w_std=1.3, b_std=0.2)
        nngp, ntk = kernel.both(x)
        errors = kernel.quadrature_error(x)
        for got, name, error in ((nngp, "nngp", errors[0]), (ntk, "ntk", errors[1])):
            reference = torch.from_numpy(MLP[f"{name}_{key}"])
            off = ~torch.eye(len(x), dtype=torch.bool)
            actual = ((got - reference).abs() / reference.abs().max())[off].max()
            assert actual < QUADRATURE
            assert error < QUADRATURE
            assert actual <= error + ROUNDING
    assert infinite_width(mlp("relu")).quadrature_error(x) == (0.0, 0.0)


def test_quadrature_error_is_honest_about_kinks() -> None:
    net = nn.Sequential(nn.Linear(3, 4), kernels.activations.Elementwise(torch.relu), nn.Linear(4, 1))
    x = points(6, 3)
    nngp, ntk = infinite_width(net).both(x)
    exact_nngp, exact_ntk = infinite_width(nn.Sequential(net[0], nn.ReLU(), net[2])).both(x)
    bounds = infinite_width(net).quadrature_error(x)
    assert (nngp - exact_nngp).abs().max() / exact_nngp.abs().max() <= bounds[0]
    assert (ntk - exact_ntk).abs().max() / exact_ntk.abs().max() <= 2 * bounds[1]
    assert bounds[1] > ROUNDING


def relu_ntk(x: Tensor, y: Tensor) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Two hidden ReLU layers, w_std^2 = 2, no bias, one pair, with 40 digits."""
    a, b = ([mpmath.mpf(v) for v in row.double().tolist()] for row in (x, y))
    K, q1, q2 = (2 * mpmath.fdot(u, v) / len(a) for u, v in ((a, b), (a, a), (b, b)))
    theta, root = K, mpmath.sqrt(q1 * q2)
    for _ in range(2):
        angle = mpmath.acos(max(-1, min(1, K / root)))
        theta *= (mpmath.pi - angle) / mpmath.pi
        K = root * (mpmath.sin(angle) + (mpmath.pi - angle) * mpmath.cos(angle)) / mpmath.pi
        theta += K
    return K, theta


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("step", [1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 0.0])
def test_nearly_parallel_and_opposite_inputs_against_many_digits(
    dtype: torch.dtype, sign: float, step: float
) -> None:
    """The NNGP to rounding always; the NTK to eps / angle, and never worse than sqrt(eps)."""
    x = points(1, 50)
    y = (sign * (x + step * points(1, 50, seed=1))).to(dtype)
    net = nn.Sequential(nn.Linear(50, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    nngp, ntk = infinite_width(net, w_std=2**0.5, b_std=0.0).both(x.to(dtype), y)
    with mpmath.workdps(40):
        exact_nngp, exact_ntk = relu_ntk(x.to(dtype)[0], y[0])
        errors = [float(abs(1 - mpmath.mpf(float(v)) / e)) for v, e in ((nngp, exact_nngp), (ntk, exact_ntk))]
    eps = torch.finfo(dtype).eps
    assert errors[0] < 20 * eps
    assert errors[1] < min(2 * eps**0.5, 20 * eps / step if step else 20 * eps)
