from __future__ import annotations

import inspect
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from symscope import kernels
from symscope.errors import InputError
from symscope.kernels import infinite_width
from symscope.kernels.conformance import assert_kernel_laws
from tests.kernels.oracle_networks import mlp
from tests.tolerances import ROUNDING

F64 = torch.float64


def points(n: int, *shape: int, seed: int = 0) -> Tensor:
    return torch.randn(n, *shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


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
