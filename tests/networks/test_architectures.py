from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.kernels import infinite_width
from symscope.networks.architectures import conv_net, digit_mlp, mlp, pair_mlp, seeded_weights, vit
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING


def drawn(seed: int) -> torch.Tensor:
    with seeded_weights(seed):
        return torch.randn(5)


def test_the_seed_alone_decides():
    torch.manual_seed(1)
    first = drawn(4)
    torch.manual_seed(2)
    assert torch.equal(first, drawn(4))
    assert not torch.equal(first, drawn(5))


def test_nothing_outside_moves():
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    drawn(0)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_default_dtype() == torch.float32


def test_the_default_dtype_comes_back_after_a_failure():
    with pytest.raises(ZeroDivisionError), seeded_weights(0):
        _ = 1 / 0
    assert torch.get_default_dtype() == torch.float32


def test_bad_seeds():
    with (
        pytest.raises(InputError, match="seed: expected an integer of at least 0, got -1"),
        seeded_weights(-1),
    ):
        pass


def count(net: nn.Module) -> int:
    return sum(weight.numel() for weight in net.parameters())


def test_numbers_of_weights_by_hand():
    assert count(digit_mlp()) == (784 * 512 + 512) + (512 * 128 + 128) + 128 * 10
    assert count(conv_net()) == (24 * 25 + 24) + (32 * 24 * 9 + 32) + (800 * 256 + 256) + (256 * 10 + 10)
    embedding = 2 * 16 + (16 * 256 + 256) + 2 * 256
    block = (2 * 256 + 256 * 3 * 256 + 256 * 256) + (2 * 256 + 2 * (256 * 256 + 256))
    assert count(vit()) == embedding + 2 * block + 2 * 256 + (256 * 10 + 10)
    assert count(pair_mlp()) == (784 * 512 + 512) + (512 + 1)
    assert count(pair_mlp(depth=5)) == (784 * 512 + 512) + 4 * (512 * 512 + 512) + (512 + 1)
    assert count(mlp((3, 5, 2))) == (3 * 5 + 5) + (5 * 2 + 2)


@pytest.mark.parametrize("build", [digit_mlp, conv_net, vit])
def test_classifiers_take_images_and_give_ten_logits(build):
    x = torch.linspace(-1, 1, 2 * 784, dtype=torch.float32).reshape(2, 1, 28, 28)
    net = build(seed=1, dtype=torch.float32).eval()
    out = net(x)
    assert out.shape == (2, 10)
    assert not torch.equal(out[0], out[1])
    assert torch.equal(build(seed=1, dtype=torch.float32).eval()(x), out)
    assert not torch.allclose(build(seed=2, dtype=torch.float32).eval()(x), out)


def test_float32_is_float64_rounded():
    for a, b in zip(conv_net(3).parameters(), conv_net(3, torch.float32).parameters(), strict=True):
        assert torch.equal(a.float(), b)


def test_default_initialisation_is_that_of_pytorch():
    bound = 1 / 784**0.5
    weight = digit_mlp(5)[1].weight
    assert 0.999 * bound < weight.abs().max() <= bound  # uniform, 401,408 draws


def test_the_mlp_drops_units_in_training_alone():
    net, x = digit_mlp(), torch.ones(1, 784, dtype=torch.float64)
    assert torch.equal(net.eval()(x), net(x))
    net.train()
    assert not torch.equal(net(x), net(x))


def test_pair_network_by_hand():
    net = pair_mlp(inputs=3, width=4, w_std=1.5, b_std=0.2, seed=2)
    x = torch.tensor([[0.3, -1.0, 2.0]], dtype=torch.float64)
    first, last = net[1], net[3]
    hidden = (1.5 / 3**0.5 * x @ first.weight.T + 0.2 * first.bias).relu()
    expected = 1.5 / 4**0.5 * hidden @ last.weight.T + 0.2 * last.bias
    torch.testing.assert_close(net(x), expected, rtol=ROUNDING, atol=ROUNDING)


def test_pair_network_at_initialisation_has_the_covariance_of_its_kernel():
    """With one hidden layer the covariance of outputs is the infinite-width one at every width."""
    x = torch.tensor([[0.3, -1.0, 2.0], [1.0, 0.5, 0.1]], dtype=torch.float64)
    with torch.no_grad():
        draws = torch.stack([pair_mlp(3, 8, seed=seed)(x)[:, 0] for seed in range(3000)])
    products = draws[:, :, None] * draws[:, None, :]
    error = products.std(0) / len(draws) ** 0.5
    limit = infinite_width(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)), w_std=1.0, b_std=1.0)
    assert ((products.mean(0) - limit.nngp(x, x)).abs() <= MONTE_CARLO_SIGMAS * error).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mlp((784,)), "widths: expected inputs and outputs"),
        (lambda: mlp((784, 0, 10)), "widths: expected an integer of at least 1, got 0"),
        (lambda: mlp((784, 10), dropout=1.0), "dropout: expected a probability"),
        (lambda: pair_mlp(depth=0), "depth: expected an integer of at least 1"),
        (lambda: pair_mlp(w_std=-1.0), "expected finite scales"),
        (lambda: vit(patch=5), "patch: expected a divisor of the image's side, 28, got 5"),
        (lambda: vit(heads=0), "heads: expected an integer of at least 1"),
        (lambda: vit(dim=30), "multiple of 4"),
    ],
)
def test_bad_sizes(make, message):
    with pytest.raises(InputError, match=message):
        make()
