from __future__ import annotations

import re

import torch
from torch import nn

from symscope.kernels import infinite_width
from symscope.kernels.infinite._fused._chain_source import conv_source, dense_source
from symscope.kernels.infinite._fused._chains import chain_of


def test_constants_of_the_network_stand_in_the_source():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.LeakyReLU(0.25), nn.Linear(4, 1))
    chain = chain_of(infinite_width(net, w_std=1.5, b_std=0.25).network)
    text = dense_source(chain, torch.float32, nngp=False, ntk=True)
    assert "typedef float T;" in text
    assert re.search(r"#define LAYERS 2\n", text)
    assert re.search(r"#define WANTED 1\n", text)
    assert "W_VAR[] = {(T)2.25, (T)2.25, (T)2.25}" in text
    assert "PRODUCT[] = {(T)0.0, (T)0.25}" in text


def test_shapes_stand_in_the_source():
    net = nn.Sequential(
        nn.Conv2d(2, 4, (3, 5), padding=(1, 2)),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 1),
    )
    chain = chain_of(infinite_width(net).network)
    text = conv_source(chain, (2, 9, 7), 4, 3, 2, torch.float64, ntk=False)
    for name, value in {"C": 2, "H": 9, "W": 7, "GROUPS": 3, "NTK": 0, "CIRCULAR": 0, "POOLED": 1}.items():
        assert re.search(rf"#define {name} {value}\n", text)
    assert "KH[] = {3};" in text
    assert "KW[] = {5};" in text
