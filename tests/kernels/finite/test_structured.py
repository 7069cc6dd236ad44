from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope.kernels.conformance import assert_kernel_laws
from symscope.kernels.finite._empirical_ntk import empirical_ntk, empirical_ntk_blocks
from symscope.kernels.finite._structure import structured_layers
from symscope.kernels.finite._structured import remaining_network, structured_matrix, structured_norms
from symscope.kernels.finite._structured_plan import Size, structured_plan
from symscope.networks import evaluation, forward_profile, functional_module
from tests.kernels.networks import dense_jacobian
from tests.kernels.networks import inputs as points
from tests.kernels.structured_networks import NETWORKS, structured_network
from tests.tolerances import ROUNDING, SINGLE

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using padding='same' with even", "ignore:There is a performance drop because we have not yet"
)
every_network = pytest.mark.parametrize("name", NETWORKS)


def assert_close(result: torch.Tensor, expected: torch.Tensor, tolerance: float = ROUNDING) -> None:
    assert result.shape == expected.shape
    assert (result - expected).abs().max() <= tolerance * expected.abs().max()


@every_network
def test_blocks_agree_with_the_dense_jacobian(name):
    net, inputs, _ = structured_network(name)
    x1, x2 = inputs(4), inputs(3, seed=1)
    j1, j2 = dense_jacobian(net, x1), dense_jacobian(net, x2)
    for y, j in ((x2, j2), (None, j1)):
        result = empirical_ntk_blocks(net, x1, y, method="structured")
        assert_close(result, torch.einsum("iap,jbp->ijab", j1, j))


@every_network
def test_trace_chosen_output_and_diagonal_agree_with_the_dense_jacobian(name):
    net, inputs, _ = structured_network(name)
    x1, x2 = inputs(4), inputs(3, seed=1)
    if not x1.is_floating_point():
        pytest.skip("a kernel takes real inputs; blocks of tokens are tested above")
    j1, j2 = dense_jacobian(net, x1), dense_jacobian(net, x2)
    for output, few in ((None, slice(None)), (1, slice(1, 2))):
        kernel = empirical_ntk(net, output=output, method="structured")
        a, b = j1[:, few], j2[:, few]
        assert_close(kernel(x1, x2), torch.einsum("iap,jap->ij", a, b) / a.shape[1])
        assert_close(kernel(x1), torch.einsum("iap,jap->ij", a, a) / a.shape[1])
        assert_close(kernel.diagonal(x1), a.square().sum((1, 2)) / a.shape[1])


@pytest.mark.parametrize(
    "name", ["dense", "time", "reflected", "depthwise", "sound", "batches", "no biases", "tied words"]
)
@pytest.mark.parametrize("whole", [False, True])
def test_both_forms_of_every_layer_agree_in_batches_and_in_any_budget(name, whole):
    net, inputs, _ = structured_network(name)
    network, x1, x2 = functional_module(net), inputs(6), inputs(2, seed=1)
    x1, x2 = x1.unflatten(0, (2, 3)), x2.unflatten(0, (2, 1))
    with evaluation():
        layers = structured_layers(network, x1[0], frozenset())
    seen = forward_profile(network, x1[0])
    eye = torch.eye(seen.outputs, dtype=torch.float64)
    roomy = structured_plan(layers, seen, Size(2, 3, 1, False, len(eye), whole), 0, 8, 10**9)
    both = {m.name for m in layers if not m.elementwise}
    tight = {"inputs_per_pass": 1, "inputs_at_once": 2, "scratch": 1}
    tight |= {} if whole else {"outputs_at_once": 2}
    expected = None
    for factored in (both, set()):
        for sizes in ({}, tight):
            how = replace(roomy, factored=frozenset(factored), **sizes)
            result = structured_matrix(how, network, x1, x2, eye)
            expected = result if expected is None else expected
            assert_close(result, expected)
            joint = structured_matrix(how, network, x1, None, eye)
            mirror = joint.transpose(1, 2)
            assert torch.equal(joint, mirror.transpose(3, 4) if whole else mirror)
            if not whole:
                diagonal = structured_norms(how, network, x1[0], eye)
                assert_close(diagonal, joint[0].diagonal())


@pytest.mark.parametrize("name", ["dense", "sound", "attention"])
def test_the_kernel_keeps_the_laws_of_kernels(name):
    net, inputs, _ = structured_network(name)
    assert_kernel_laws(empirical_ntk(net, method="structured"), inputs(5), tolerance=ROUNDING)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 4),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
    padding=st.integers(0, 2),
    mode=st.sampled_from(["zeros", "circular", "replicate", "reflect"]),
    groups=st.sampled_from([1, 2]),
    kernel=st.tuples(st.integers(1, 2), st.integers(1, 3)),
)
def test_convolutions_of_any_shape(seed, n, stride, dilation, padding, mode, groups, kernel):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        conv = nn.Conv2d(2, 4, kernel, stride, padding, dilation=dilation, groups=groups, padding_mode=mode)
        net = nn.Sequential(conv, nn.Softplus(), nn.AdaptiveAvgPool2d((1, 2)), nn.Flatten()).double()
    x = points(n, (2, 5, 6), seed=seed)
    result = empirical_ntk_blocks(net, x, method="structured")
    j = dense_jacobian(net, x)
    assert_close(result, torch.einsum("iap,jbp->ijab", j, j))
    matrix = result.permute(0, 2, 1, 3).reshape(n * 8, n * 8)
    assert torch.equal(matrix, matrix.T)
    assert torch.linalg.eigvalsh(matrix).min() > -ROUNDING * matrix.abs().max() * len(matrix)


@pytest.mark.parametrize("name", ["dense", "strided", "batches", "attention"])
def test_single_precision(name):
    net, inputs, _ = structured_network(name)
    x = inputs(4)
    expected = empirical_ntk_blocks(net, x, method="contraction")
    result = empirical_ntk_blocks(net, x.float(), method="structured")
    assert result.dtype == torch.float32
    assert_close(result.double(), expected, SINGLE)


def test_what_no_layer_has_remains_trainable():
    net, inputs, _ = structured_network("tied words")
    network = functional_module(net)
    with evaluation():
        layers = structured_layers(network, inputs(2), frozenset())
    rest = remaining_network(network, layers)
    assert rest is not None
    assert list(rest.trainable) == ["words.weight"]
    assert {"body.weight", "body.bias"} <= rest.fixed.keys()
    assert remaining_network(network, tuple(replace(m, weight="words.weight") for m in layers)) is not None


@pytest.mark.parametrize("method", ["structured", "auto"])
def test_inference_mode_and_threads_without_gradients_change_nothing(method):
    net, inputs, _ = structured_network("strided")
    x = inputs(3)
    expected = empirical_ntk(net, method="contraction")(x)
    with torch.inference_mode():
        assert_close(empirical_ntk(net, method=method)(inputs(3)), expected)
    with torch.no_grad():
        assert_close(empirical_ntk(net, method=method)(x), expected)
