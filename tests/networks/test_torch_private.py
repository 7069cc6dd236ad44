"""What breaks when a later PyTorch takes a private name away: these tests, and what their names say."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from symscope.networks._torch_private import OperatorWatch, is_view


def test_random_numbers_inside_composite_functions_are_noticed():
    """Without `TorchDispatchMode`, noise that two evaluations hardly show would pass."""
    q = torch.randn(1, 1, 4, 8, generator=torch.Generator().manual_seed(0))
    with OperatorWatch() as quiet, sdpa_kernel(SDPBackend.MATH):
        nn.functional.scaled_dot_product_attention(q, q, q)
    with OperatorWatch() as loud, sdpa_kernel(SDPBackend.MATH):
        nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=1e-6)
    assert quiet.random == ""
    assert loud.random != ""


def test_results_inside_composite_functions_are_counted_and_views_are_not():
    """Without it, `ForwardProfile.activations` would miss the scores of attention: budgets too small."""
    q = torch.ones(1, 1, 4, 8)
    with OperatorWatch() as watch, sdpa_kernel(SDPBackend.MATH):
        nn.functional.scaled_dot_product_attention(q, q, q)
    assert watch.numbers >= 4 * 4 + 4 * 8  # scores and result
    with OperatorWatch() as watch:
        q.flatten()[3:].reshape(-1, 1)
    assert watch.numbers == 0


def test_views_of_tensors_nobody_holds_are_known():
    """Without `Tensor._is_view`, `is_view` may always be True: kernels then clone every output."""
    base = torch.ones(2, 3, requires_grad=True) * 2
    whole = base.view(-1)  # same storage, offset and number of entries as its base
    assert is_view(whole)
    assert is_view(base.unbind(0)[1])
    assert not is_view(base)
    assert not is_view(whole.clone())
