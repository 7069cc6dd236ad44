from __future__ import annotations

import inspect
import json
import pickle

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from symscope import kernels
from symscope.errors import InputError
from symscope.kernels import infinite_width
from symscope.kernels.conformance import assert_kernel_laws
from symscope.kernels.infinite import InfiniteWidth
from tests.kernels.oracle_networks import FIXTURES, DenseResidual, conv_net, fixture, images, mlp
from tests.tolerances import ORACLE, ORACLE_DIAGONAL, QUADRATURE, ROUNDING

F64 = torch.float64
MLP = fixture("mlp_random")
CONV = fixture("conv_random")


def points(n: int, *shape: int, seed: int = 0) -> Tensor:
    return torch.randn(n, *shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


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


NETS = {
    "mlp": (lambda: mlp("relu", inputs=5, depth=2), (5,)),
    "tanh": (lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1)), (5,)),
    "conv-fc": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, (3, 2), stride=(2, 1), dilation=(1, 2), padding=(2, 1)),
            nn.ReLU(),
            nn.Conv2d(4, 4, 2),
            kernels.activations.Erf(),
            nn.Flatten(),
            nn.Linear(4 * 3 * 5, 1),
        ),
        (2, 5, 6),
    ),
    "conv-pool": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1),
            nn.GELU(),
            nn.AvgPool2d((2, 3), stride=(1, 2), padding=(1, 1)),
            nn.Conv2d(4, 4, 2, padding_mode="reflect", padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(4, 3, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(3, 1),
        ),
        (2, 5, 6),
    ),
    "conv1d": (
        lambda: nn.Sequential(
            nn.Conv1d(2, 4, 3, padding=1),
            nn.GroupNorm(2, 4),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Linear(4, 1),
        ),
        (2, 7),
    ),
}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("which", ["nngp", "ntk"])
def test_kernel_laws(name: str, which: str) -> None:
    build, shape = NETS[name]
    assert_kernel_laws(getattr(infinite_width(build()), which), points(5, *shape, seed=3))


@pytest.mark.parametrize("name", NETS)
def test_both_is_each_and_pieces_do_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build, shape = NETS[name]
    kernel = infinite_width(build(), w_std=1.2, b_std=0.3)
    x = points(7, *shape, seed=1)
    nngp, ntk = kernel.both(x)
    torch.testing.assert_close(nngp, kernel.nngp(x), rtol=ROUNDING, atol=0)
    torch.testing.assert_close(ntk, kernel.ntk(x), rtol=ROUNDING, atol=0)
    assert torch.equal(ntk, ntk.mT)
    for piece in (1, 5, 11, 1000):
        monkeypatch.setattr("symscope.kernels.infinite._sides.PIECES", {"cpu": piece, "cuda": piece})
        for small, big in zip(kernel.both(x), (nngp, ntk), strict=True):
            torch.testing.assert_close(small, big, rtol=1e-11, atol=1e-13)
            assert torch.equal(small, small.mT)
    cross = kernel.both(x[:3], x[3:])
    torch.testing.assert_close(cross[0], nngp[:3, 3:], rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(cross[1], ntk[:3, 3:], rtol=1e-11, atol=1e-13)


@given(st.integers(0, 10_000), st.floats(0.05, 20.0), st.floats(0.05, 20.0))
def test_relu_without_bias_is_homogeneous(seed: int, a: float, b: float) -> None:
    x = points(4, 3, seed=seed)
    kernel = infinite_width(mlp("leaky0.1", bias=False, inputs=3), w_std=1.4)
    for scaled, unit in zip(kernel.both(a * x, b * x), kernel.both(x, x), strict=True):
        torch.testing.assert_close(scaled, a * b * unit, rtol=1e-7, atol=0)


@given(st.integers(0, 10_000))
def test_mlps_do_not_see_orthogonal_maps(seed: int) -> None:
    x = points(5, 4, seed=seed)
    turn, _ = torch.linalg.qr(points(4, 4, seed=seed + 1))
    kernel = infinite_width(
        nn.Sequential(nn.Linear(4, 8), kernels.activations.Erf(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 1))
    )
    for before, after in zip(kernel.both(x), kernel.both(x @ turn), strict=True):
        torch.testing.assert_close(after, before, rtol=1e-11, atol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(["relu", "erf", "gelu", "sin", "gaussian"]))
def test_grams_are_positive_and_the_ntk_exceeds_the_nngp(seed: int, activation: str) -> None:
    nngp, ntk = infinite_width(mlp(activation, inputs=3), w_std=1.1, b_std=0.3).both(points(6, 3, seed=seed))
    scale = ntk.diagonal().max()
    for K in (nngp, ntk, ntk - nngp):  # Theta = K + w^2 Theta' and Theta' is positive semi-definite
        assert torch.linalg.eigvalsh(K).min() > -1e-10 * scale


@given(st.integers(0, 10_000))
def test_circular_convolutions_make_grams_of_shifts_circulant(seed: int) -> None:
    image = points(1, 2, 3, 4, seed=seed)[0]
    orbit = torch.stack([image.roll(s, -1) for s in range(4)])
    body = [nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"), nn.ReLU()]
    for readout in (
        [nn.Flatten(), nn.Linear(48, 1)],
        [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)],
    ):
        for K in infinite_width(nn.Sequential(*body, *readout)).both(orbit):
            for s in range(4):
                torch.testing.assert_close(K.roll((s, s), (0, 1)), K, rtol=1e-11, atol=0)


@given(st.integers(0, 10_000))
def test_square_filters_make_grams_of_quarter_turns_circulant(seed: int) -> None:
    image = points(1, 1, 5, 5, seed=seed)[0]
    orbit = torch.stack([image.rot90(s, (-2, -1)) for s in range(4)])
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.AvgPool2d(3, 1),
        nn.Conv2d(4, 4, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(36, 1),
    )
    for K in infinite_width(net).both(orbit):
        torch.testing.assert_close(K.roll((1, 1), (0, 1)), K, rtol=1e-11, atol=0)


def test_pooling_is_blind_to_shifts_and_flattening_is_not() -> None:
    x = points(2, 1, 4, 4)
    shifted = x.roll(1, -1)
    conv = [nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"), nn.ReLU()]
    pooled = infinite_width(nn.Sequential(*conv, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)))
    flat = infinite_width(nn.Sequential(*conv, nn.Flatten(), nn.Linear(64, 1)))
    torch.testing.assert_close(pooled.ntk(x, shifted), pooled.ntk(x, x), rtol=1e-7, atol=0)
    assert (flat.ntk(x, shifted) - flat.ntk(x, x)).abs().max() > 1e-2


def test_batches_are_loops() -> None:
    x1, x2 = (
        points(4 * 3, 1, 4, 5).reshape(4, 3, 1, 4, 5),
        points(4 * 2, 1, 4, 5, seed=5).reshape(4, 2, 1, 4, 5),
    )
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1))
    kernel = infinite_width(net)
    looped = torch.stack([kernel.ntk(a, b) for a, b in zip(x1, x2, strict=True)])
    torch.testing.assert_close(kernel.ntk.batched(x1, x2), looped, rtol=ROUNDING, atol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_identical_opposite_and_zero_inputs(dtype: torch.dtype) -> None:
    x = points(3, 6).to(dtype)
    x[2] = 0
    kernel = infinite_width(mlp("relu", bias=False, inputs=6), w_std=2**0.5)
    nngp, ntk = kernel.both(x, torch.cat([x, -x]))
    assert torch.isfinite(ntk).all()
    assert ntk[2].abs().max() == 0
    assert nngp[:, 2].abs().max() == 0
    diagonal = kernel.both(x)[1].diagonal()
    torch.testing.assert_close(diagonal, 8 * x.square().mean(1), rtol=8 * torch.finfo(dtype).eps, atol=0)
    same = ntk[:, :3].diagonal()
    torch.testing.assert_close(same, diagonal, rtol=4 * torch.finfo(dtype).eps ** 0.5, atol=0)


def test_kernels_can_be_pickled_and_read() -> None:
    kernel = infinite_width(nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 1)))
    copy = pickle.loads(pickle.dumps(kernel.ntk))
    x = points(3, 3)
    assert torch.equal(copy(x), kernel.ntk(x))
    assert [type(n.operation).__name__ for n in kernel.network.nodes] == [
        "Input",
        "Dense",
        "Activate",
        "Dense",
    ]
    assert kernel.ntk.name == "NTK(Sequential)"


@pytest.mark.parametrize(
    ("x1", "x2", "match"),
    [
        (torch.zeros(2, 4, dtype=F64), None, r"layer '0': expected inputs of shape \(3,\), got \(4,\)"),
        (torch.full((2, 3), float("nan"), dtype=F64), None, "NaN"),
        (torch.ones(2, 3, dtype=F64), torch.ones(2, 3), "one dtype"),
        (torch.ones(2, 3, dtype=F64), torch.ones(2, 3, dtype=F64, device="meta"), "device"),
        (torch.ones(2, 3, dtype=torch.float16), None, "float32 or float64"),
        (torch.ones(2, 1, 2, 3, dtype=F64), None, "flatten first"),
    ],
)
def test_bad_inputs(x1: Tensor, x2: Tensor | None, match: str) -> None:
    kernel = infinite_width(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    with pytest.raises(InputError, match=match):
        kernel.both(x1, x2)


def test_integers() -> None:
    kernel = infinite_width(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    with pytest.raises(InputError, match="floating-point"):
        kernel.ntk.blocks(torch.ones(1, 2, 3, dtype=torch.int64), None)
    with pytest.raises(InputError, match="floating-point"):
        kernel.ntk.diagonal(torch.ones(2, 3, dtype=torch.int64))


def test_bad_images() -> None:
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 9, 1))
    kernel = infinite_width(net)
    with pytest.raises(InputError, match=r"layer '0'.*channels come first"):
        kernel.ntk(points(2, 5, 5, 1))
    with pytest.raises(InputError, match=r"layer '0': its window is larger"):
        kernel.ntk(points(2, 1, 2, 9))
    with pytest.raises(InputError, match=r"layer '3': expected inputs of shape \(36,\), got \(64,\)"):
        kernel.ntk(points(2, 1, 6, 6))
    with pytest.raises(InputError, match="end with Flatten"):
        infinite_width(net[:2]).ntk(points(2, 1, 5, 5))
    with pytest.raises(InputError, match="expected 2 axes"):
        infinite_width(nn.Sequential(nn.Linear(3, 4), nn.AdaptiveAvgPool2d(1))).ntk(points(2, 3))


def test_zero_inputs_where_a_norm_is_needed() -> None:
    net = nn.Sequential(nn.Linear(3, 4, bias=False), nn.LayerNorm(4, eps=0.0), nn.ReLU(), nn.Linear(4, 1))
    x = points(3, 3)
    x[1] = 0
    with pytest.raises(InputError, match=r"layer '1'.*variance to normalise"):
        infinite_width(net).ntk(x)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"parameterisation": "mup"}, 'expected "ntk" or "standard"'),
        ({"init": "xavier"}, 'expected "default" or "measured"'),
        ({"w_std": -1.0}, "w_std: expected a finite number >= 0"),
        ({"layers": {"3": {"w_std": 1.0}}}, "'3' is not a layer with weights"),
        ({"layers": {"0": {"wstd": 1.0}}}, "expected w_std or b_std"),
        ({"nodes": 8}, "64 to 8192"),
    ],
)
def test_bad_options(options: dict, match: str) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    with pytest.raises(InputError, match=match):
        infinite_width(net, **options)


def test_module_must_be_a_module() -> None:
    with pytest.raises(InputError, match=r"expected a torch.nn.Module, got builtin"):
        inspect.unwrap(infinite_width)(torch.relu)  # the checks of the test suite stop it earlier


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
