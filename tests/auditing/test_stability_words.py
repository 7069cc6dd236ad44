"""The stability number in words, for networks that declare their layers, and for others not."""

from __future__ import annotations

import torch

from symscope.auditing import audit_subject
from symscope.auditing._stability_words import UNKNOWN, stability_words
from symscope.dynamics import TrainingProblem, build_module, declare_network, stability
from symscope.groups import cyclic, permutation, trivial
from tests.auditing.planted import aligned, declared_layers, fresh, mlp, own, subject


def test_an_undeclared_network_has_no_number():
    assert stability_words(audit_subject(fresh(mlp), aligned(12), "C4 rotation")) == UNKNOWN


def test_a_declared_network_has_the_number_of_its_equivariant_layers():
    given = declared_layers()
    audited = audit_subject(given["model"], given["data"], given["action"])
    y = torch.nn.functional.one_hot(audited.data.labels, 3).double()
    weights = [layer.detach() for layer in given["model"].matrices()]
    expected = stability(
        TrainingProblem(given["model"].network, lambda f, y: (f - y).square().sum(-1), audited.data.x, y),
        weights,
    )
    words = stability_words(audited)
    assert expected.verdict in words
    assert f"rate {expected.growth_rate:.2g}" in words


def test_layers_that_left_the_symmetry_are_projected_first():
    space = permutation(cyclic(8))
    network = declare_network([space, 2 * space, trivial(cyclic(8), 3)], "tanh")
    net = build_module(network, equivariant=False, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(torch.randn(weights.shape, generator=torch.Generator().manual_seed(1)), alpha=0.1)
    given = subject(net, declared_layers()["data"], own(cyclic(8), lambda g, v: space.act(g, v), 1))
    words = stability_words(audit_subject(given["model"], given["data"], given["action"]))
    assert words.startswith("Augmented training near the equivariant part")
