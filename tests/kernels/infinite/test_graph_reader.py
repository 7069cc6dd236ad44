"""Modules read as graphs: spellings of one network give one kernel, and what has no rule is refused."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from symscope import kernels
from symscope.errors import InputError
from symscope.kernels import UnsupportedLayer, infinite_width
from symscope.kernels.infinite._wide_network import Extent

F64 = torch.float64


def points(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(4))


class Written(nn.Module):
    """A network whose forward is any function of its layers."""

    def __init__(self, forward, **layers: nn.Module) -> None:
        super().__init__()
        self.call = forward
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self, x)


def assert_same_kernels(one: nn.Module, two: nn.Module, x: Tensor) -> None:
    for a, b in zip(infinite_width(one).both(x), infinite_width(two).both(x), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=0)


MLP = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 1))
CONV = nn.Sequential(nn.Conv2d(1, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 1))


@pytest.mark.parametrize(
    "forward",
    [
        lambda m, x: m.b(torch.relu(m.a(torch.flatten(x, 1)))),
        lambda m, x: m.b(m.a(x.flatten(1)).relu()),
        lambda m, x: m.b(F.relu(m.a(x.view(x.size(0), -1)))),
        lambda m, x: m.b(F.relu(m.a(x.reshape(x.shape[0], -1)), inplace=True)),
        lambda m, x: m.b(F.dropout(F.relu(m.a(x.view(-1, 12))), 0.5, m.training)),
        lambda m, x: m.b(F.leaky_relu(m.a(x.flatten(start_dim=1)), 0.0)),
        lambda m, x: -m.b(2 * torch.relu(m.a(x.flatten(1))) / 2.0),
    ],
)
def test_ways_to_write_an_mlp(forward) -> None:
    assert_same_kernels(Written(forward, a=nn.Linear(12, 5), b=nn.Linear(5, 1)), MLP, points(3, 1, 3, 4))


@pytest.mark.parametrize(
    "forward",
    [
        lambda m, x: m.b(torch.relu(m.a(x)).mean((2, 3))),
        lambda m, x: m.b(torch.relu(m.a(x)).mean(dim=[-1, -2])),
        lambda m, x: m.b(torch.mean(torch.relu(m.a(x)), (2, 3), keepdim=True).flatten(1)),
        lambda m, x: m.b(F.adaptive_avg_pool2d(torch.relu(m.a(x)), 1).flatten(1)),
        lambda m, x: m.b(F.avg_pool2d(torch.relu(m.a(x)), (2, 3)).flatten(1)),
        lambda m, x: m.b(F.avg_pool2d(torch.relu(m.a(x.view(-1, 1, 3, 4))), kernel_size=(2, 3)).flatten(1)),
        lambda m, x: m.b(torch.relu(m.a(F.pad(x, (0, 0, 0, 0)))).mean((2, 3))),
    ],
)
def test_ways_to_write_global_pooling(forward) -> None:
    assert_same_kernels(Written(forward, a=nn.Conv2d(1, 5, 2), b=nn.Linear(5, 1)), CONV, points(3, 1, 3, 4))


def test_nested_modules_and_identities_are_transparent() -> None:
    nested = nn.Sequential(
        nn.Sequential(nn.Flatten(), nn.Sequential(nn.Identity(), MLP[1])),
        nn.Dropout(0.3),
        nn.ModuleDict({"act": MLP[2]})["act"],
        MLP[3],
    )
    assert_same_kernels(nested, MLP, points(3, 1, 3, 4))
    assert_same_kernels(nn.Linear(4, 1), nn.Sequential(nn.Linear(4, 1)), points(3, 4))


def test_a_convolution_over_the_whole_image_is_a_dense_layer() -> None:
    conv = nn.Sequential(nn.Conv2d(1, 5, (3, 4)), nn.ReLU(), nn.Flatten(), nn.Linear(5, 1))
    assert_same_kernels(conv, MLP, points(3, 1, 3, 4))
    line = nn.Sequential(
        nn.Conv1d(2, 5, 3, padding=1), nn.ReLU(), nn.AvgPool1d(2), nn.Flatten(), nn.Linear(15, 1)
    )
    plane = nn.Sequential(
        nn.Conv2d(2, 5, (1, 3), padding=(0, 1)),
        nn.ReLU(),
        nn.AvgPool2d((1, 2)),
        nn.Flatten(),
        nn.Linear(15, 1),
    )
    x = points(3, 2, 6)
    for a, b in zip(infinite_width(line).both(x), infinite_width(plane).both(x[:, :, None]), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=0)


def read_out(pooled: bool) -> list[nn.Module]:
    """Of 4 channels of 4 x 4."""
    if pooled:
        return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)]
    return [nn.Flatten(), nn.Linear(4 * 16, 1)]


@pytest.mark.parametrize("mode", ["zeros", "circular", "reflect", "replicate"])
@pytest.mark.parametrize("pooled", [True, False])
def test_padding_inside_a_convolution_is_padding_before_it(mode: str, pooled: bool) -> None:
    pads = {
        "zeros": nn.ZeroPad2d,
        "circular": nn.CircularPad2d,
        "reflect": nn.ReflectionPad2d,
        "replicate": nn.ReplicationPad2d,
    }
    tail = read_out(pooled)
    inside = nn.Sequential(
        nn.Conv2d(1, 4, 1),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode=mode),
        kernels.activations.Erf(),
        *tail,
    )
    before = nn.Sequential(
        inside[0], inside[1], pads[mode]((1, 1, 1, 1)), nn.Conv2d(4, 4, 3), kernels.activations.Erf(), *tail
    )
    assert_same_kernels(inside, before, points(3, 1, 4, 4))


@pytest.mark.parametrize("pooled", [True, False])
def test_an_even_kernel_of_padding_same_is_padded_at_the_far_side(pooled: bool) -> None:
    tail = read_out(pooled)
    first = [nn.Conv2d(1, 4, 1), nn.ReLU()]
    inside = nn.Sequential(*first, nn.Conv2d(4, 4, 2, padding="same"), nn.ReLU(), *tail)
    before = nn.Sequential(*first, nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(4, 4, 2), nn.ReLU(), *tail)
    assert_same_kernels(inside, before, points(3, 1, 4, 4))


def test_what_comes_before_the_weights_acts_on_the_data() -> None:
    x = points(3, 2, 4, 4)
    tail = [nn.Flatten(), nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 1)]
    steps = [nn.Tanh(), nn.LayerNorm((2, 4, 4)), nn.AvgPool2d(2)]
    with torch.no_grad():
        data = nn.Sequential(*steps).double()(x)
    for a, b in zip(
        infinite_width(nn.Sequential(*steps, *tail)).both(x),
        infinite_width(nn.Sequential(*tail)).both(data),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=0)


def test_read_outs_need_what_they_need() -> None:
    """Flattening: equal positions everywhere. Pooling: all pairs before it, nothing more after it."""
    flat = infinite_width(
        nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 1))
    ).network
    assert set(flat.extents) == {Extent.EQUAL}
    pooled = infinite_width(CONV).network
    assert pooled.extents == (Extent.ALL, Extent.ALL, Extent.ALL, *[Extent.EQUAL] * 3)
    assert pooled.own_extents == (Extent.EQUAL, Extent.EQUAL, *[Extent.NONE] * 4)
    middle = infinite_width(
        nn.Sequential(
            nn.Conv2d(1, 4, 3),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(4, 4, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16, 1),
        )
    ).network
    assert middle.extents[1:4] == (Extent.ALL, Extent.ALL, Extent.EQUAL)
    assert middle.own_extents[1:6] == (Extent.ALL, Extent.ALL, Extent.EQUAL, Extent.EQUAL, Extent.NONE)


class Branches(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.a, self.b = kind, nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        match self.kind:
            case "twice":
                return h + h
            case "itself":
                return h + torch.relu(h)
            case "shared":
                return self.a(torch.relu(h))
            case "means":
                return torch.relu(h) + torch.relu(self.b(torch.relu(h)))
            case "constant":
                return h + 1.0
            case "branch":
                return h if h.sum() > 0 else self.b(h)
            case "part":
                return h[:, :2]
            case "tuple":
                return h, h  # type: ignore[return-value]
            case "cat":
                return torch.cat([h, self.b(x)], 1)
            case "dropout":
                return F.dropout(h)
            case "parameter":
                return h * (1 + self.b.bias)
            case "product":
                return h * self.b(x)
            case "sort":
                return torch.sort(h)[0]
            case "attribute":
                return h.T
            case "permute":
                return h.permute(1, 0)
        raise AssertionError


class Shifted(nn.Module):
    """Standardises its input by buffers, as a first layer does."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.register_buffer("mean", points(*shape) if shape else torch.tensor(0.5))
        self.register_buffer("deviation", points(*shape).exp() if shape else torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / (self.deviation + 0.1)


CASES = [
    (nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(2)), "'1' .MaxPool2d.*maximum"),
    (nn.Sequential(nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4))), r"'0\.1' .BatchNorm2d.*LayerNorm"),
    (nn.Sequential(nn.Linear(3, 4), nn.Softmax(1)), "Softmax.*logits"),
    (nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 1)), "'0' .Embedding.*one-hot"),
    (nn.Sequential(nn.LSTM(3, 4)), "LSTM"),
    (nn.TransformerEncoderLayer(4, 2), "TransformerEncoderLayer"),
    (nn.Sequential(nn.Linear(3, 4), nn.PReLU()), "PReLU"),
    (nn.Sequential(nn.Bilinear(3, 3, 3)), "Bilinear"),
    (nn.Sequential(nn.Conv2d(4, 4, 3, groups=2)), "groups=2"),
    (nn.Sequential(nn.ConvTranspose2d(4, 4, 3)), "transposed"),
    (nn.Sequential(nn.AvgPool2d(2, ceil_mode=True)), "ceil_mode"),
    (Branches("cat"), "cat.*several tensors"),
    (Branches("dropout"), "training=self.training"),
    (Branches("parameter"), "parameter is used outside"),
    (nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4))), "'0'.*spectral_norm"),
    (nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 1))), "'0'.*weight_norm"),
    (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), Shifted()), "constant is added"),
    (nn.Sequential(nn.Flatten(2)), "Flatten"),
    (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.ReLU()), "not a centred Gaussian"),
    (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4)), "right after a Linear"),
    (nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.ReLU()), "put it before Flatten"),
    (nn.Sequential(nn.Linear(4, 4), nn.Unflatten(1, (1, 2, 2))), "only the data"),
    (nn.Sequential(nn.GroupNorm(4, 4)), "group of one channel"),
    (Branches("twice"), "correlated"),
    (Branches("itself"), "correlated"),
    (Branches("shared"), "'a' .Linear.*used twice"),
    (Branches("means"), "mean that is not zero"),
    (Branches("constant"), "constant is added"),
    (Branches("branch"), "control flow depends on the data"),
    (Branches("part"), "part of a tensor"),
    (Branches("tuple"), "return one tensor"),
    (Branches("product"), "multiplication by a number"),
    (Branches("sort"), "sort"),
    (Branches("attribute"), "attribute"),
    (Branches("permute"), "channels may be moved"),
]


@pytest.mark.parametrize(("module", "match"), CASES, ids=[match for _, match in CASES])
def test_what_has_no_infinite_width_form(module: nn.Module, match: str) -> None:
    with pytest.raises(UnsupportedLayer, match=match) as caught:
        infinite_width(module)
    assert "empirical_ntk" in str(caught.value)


@pytest.mark.parametrize(
    "standard",
    [
        Shifted(),
        Shifted(2, 1, 1),
        Shifted(1, 2, 3, 4),
        Written(lambda m, x: 1 - 2 * x.sub(0.3)),
        nn.RMSNorm((2, 3, 4), eps=0.1, dtype=F64),
        nn.AdaptiveAvgPool2d((3, 2)),
    ],
    ids=["numbers", "channels", "pixels", "written", "root mean square", "pooled"],
)
def test_constant_maps_of_the_data_are_applied_to_them(standard: nn.Module) -> None:
    x = points(3, 2, 3, 4)
    data = standard(x).detach()
    tail = [nn.Flatten(), nn.Linear(data[0].numel(), 5), nn.ReLU(), nn.Linear(5, 1)]
    net = nn.Sequential(standard, *tail)
    before = set(vars(net))
    one = infinite_width(net).both(x)
    two = infinite_width(nn.Sequential(*tail)).both(data)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=0)
    assert set(vars(net)) == before  # torch.fx leaves no constants there


def test_constants_that_do_not_fit_one_input_are_refused() -> None:
    net = nn.Sequential(Shifted(3, 4), nn.Linear(4, 1))  # a constant of its own for each input of a batch
    with pytest.raises(InputError, match=r"fits one input of shape \(4,\), got shape \(3, 4\)"):
        infinite_width(net).ntk(points(3, 4))


@pytest.mark.parametrize(
    ("function", "module"),
    [
        (lambda h: F.layer_norm(h, (5,), eps=0.3), nn.LayerNorm(5, eps=0.3)),
        (lambda h: F.rms_norm(h, (5,)), nn.RMSNorm(5)),
        (lambda h: F.hardtanh(h, -0.5, max_val=2.0), nn.Hardtanh(-0.5, 2.0)),
        (lambda h: h.clamp(-0.5, 2.0), nn.Hardtanh(-0.5, 2.0)),
        (lambda h: h.clamp(min=0), nn.ReLU()),
        (lambda h: torch.clamp_max(h, 0.0), kernels.activations.PiecewiseLinear(1.0, 0.0)),
    ],
)
def test_functions_have_the_rules_of_their_modules(function, module: nn.Module) -> None:
    a, b = nn.Linear(4, 5), nn.Linear(5, 1)
    written = Written(lambda m, x: m.b(function(m.a(x))), a=a, b=b)
    assert_same_kernels(written, nn.Sequential(a, module, b), points(3, 4))


@pytest.mark.parametrize("function", [lambda h: h.clamp(min=0), lambda h: torch.clamp(h, max=0), torch.relu])
def test_a_blank_input_has_the_derivative_pytorch_gives_it(function) -> None:
    zero = torch.zeros((), dtype=F64, requires_grad=True)
    [slope] = torch.autograd.grad(function(zero), zero)
    net = Written(lambda m, x: m.b(function(m.a(x))), a=nn.Linear(4, 5), b=nn.Linear(5, 1))
    kernel = infinite_width(net, parameterisation="standard", w_std=1.0, b_std=0.0)
    assert float(kernel.ntk(torch.zeros(1, 4, dtype=F64))) == slope**2 + 1  # of the two biases


def test_pooling_to_sizes_that_divide_is_average_pooling() -> None:
    first, last = [nn.Conv2d(1, 4, 1), nn.ReLU()], [nn.Conv2d(4, 4, 1), nn.ReLU(), *read_out(True)]
    adaptive = nn.Sequential(*first, nn.AdaptiveAvgPool2d((2, None)), *last)
    assert_same_kernels(adaptive, nn.Sequential(*first, nn.AvgPool2d((3, 1)), *last), points(3, 1, 6, 4))
    with pytest.raises(InputError, match=r"output size \(2, None\) divides, got shape \(4, 5, 4\)"):
        infinite_width(adaptive).ntk(points(2, 1, 5, 4))


def test_norms_over_positions_alone_are_refused() -> None:
    net = nn.Sequential(nn.Conv2d(1, 4, 1), nn.LayerNorm((3, 3)), nn.Flatten(), nn.Linear(36, 1))
    with pytest.raises(InputError, match=r"layer '1': expected inputs of shape \(3, 3\), got \(4, 3, 3\)"):
        infinite_width(net).ntk(points(2, 1, 3, 3))


def test_sums_of_different_shapes_are_refused() -> None:
    net = Written(lambda m, x: m.a(x) + m.b(x), a=nn.Linear(3, 4), b=nn.Linear(3, 5))
    with pytest.raises(InputError, match="branches of one shape"):
        infinite_width(net).ntk(points(2, 3))
