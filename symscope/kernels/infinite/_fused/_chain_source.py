"""Source code for a chain: the constants of a network in front of the code, in CUDA or C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import torch

from symscope.kernels.infinite._fused._arccosine import arccosine_coefficients
from symscope.kernels.infinite._fused._chains import Chain
from symscope.kernels.infinite._operations import LayerWeights

# Polynomial degrees at which the arc cosine is exact to rounding.
DEGREES = {torch.float32: 7, torch.float64: 19}
_TYPES = {torch.float32: "float", torch.float64: "double"}


@cache
def dense_source(chain: Chain, dtype: torch.dtype, nngp: bool, ntk: bool) -> str:
    """`dense_chain.cu` for a network: mean products of features in, the kernels wanted out."""
    assert chain.final is not None
    constants = {"NNGP": int(nngp), "WANTED": int(nngp) + int(ntk)}
    return _source(
        "dense_chain.cu", chain, [*(s.weights for s in chain.steps), chain.final], dtype, ntk, constants
    )


@cache
def conv_source(
    chain: Chain,
    shape: tuple[int, int, int],
    rows: int,
    groups: int,
    resident: int,
    dtype: torch.dtype,
    ntk: bool,
) -> str:
    """The source of `conv_chain.cu` for a network on images of one shape (channels, height, width)."""
    c, h, w = shape
    constants = {
        **{"C": c, "H": h, "W": w, "S": rows, "GROUPS": groups, "RESIDENT": resident},
        **{"CIRCULAR": int(chain.circular), "POOLED": int(chain.readout == "all")},
    }
    weights = [step.weights for step in chain.steps]
    return _source("conv_chain.cu", chain, weights, dtype, ntk, constants, _taps(chain))


@cache
def c_dense_source(chain: Chain, dtype: torch.dtype, nngp: bool, ntk: bool) -> str:
    """`dense_chain.c` for a network."""
    assert chain.final is not None
    weights = [*(step.weights for step in chain.steps), chain.final]
    return _source("dense_chain.c", chain, weights, dtype, ntk, {"NNGP": int(nngp)})


@cache
def c_conv_source(
    chain: Chain, shape: tuple[int, int, int], lanes: int, dtype: torch.dtype, ntk: bool
) -> str:
    """`conv_chain.c` for a network on images of one shape (channels, height, width)."""
    c, h, w = shape
    constants = {
        **{"C": c, "H": h, "W": w, "LANES": lanes, "TAPS": max(step.taps[1] for step in chain.steps)},
        **{"CIRCULAR": int(chain.circular), "POOLED": int(chain.readout == "all")},
    }
    weights = [step.weights for step in chain.steps]
    return _source("conv_chain.c", chain, weights, dtype, ntk, constants, _taps(chain))


def _taps(chain: Chain) -> dict[str, list[int]]:
    return {name: [step.taps[axis] for step in chain.steps] for axis, name in enumerate(("KH", "KW"))}


def _source(
    name: str,
    chain: Chain,
    weights: Sequence[LayerWeights],
    dtype: torch.dtype,
    ntk: bool,
    constants: Mapping[str, int],
    sizes: Mapping[str, Sequence[int]] | None = None,
) -> str:
    duals = [step.dual for step in chain.steps]
    degree = DEGREES[dtype]
    arrays = {
        "ARC": arccosine_coefficients(degree),
        **{
            field.upper(): [getattr(w, field) for w in weights]
            for field in ("w_var", "b_var", "w_rate", "b_rate")
        },
        "JUMP": [(d.above - d.below) ** 2 / (2 * math.pi) for d in duals],
        "PRODUCT": [d.above * d.below for d in duals],
        "HALF": [(d.above**2 + d.below**2) / 2 for d in duals],
        "AT_ONE": [d.at_zero * (d.above + d.below) / 2 for d in duals],
        "AT_BOTH": [d.at_zero**2 for d in duals],
    }
    on_gpu = name.endswith(".cu")
    constant = "__device__ constexpr" if on_gpu else "static const"
    numbers = {"LAYERS": len(chain.steps), "NTK": int(ntk), "ARC_DEGREE": degree, **constants}
    head = f"typedef {_TYPES[dtype]} T;\n"
    head += "".join(f"#define {key} {value}\n" for key, value in numbers.items())
    for key, values in (sizes or {}).items():
        head += f"{constant} int {key}[] = {{{', '.join(map(str, values))}}};\n"
    for key, values in arrays.items():
        head += f"{constant} T {key}[] = {{{', '.join(f'(T){v!r}' for v in values)}}};\n"
    return head + _text("arc.cu" if on_gpu else "arc.h") + _text(name)


@cache
def _text(name: str) -> str:
    return files("symscope.kernels.infinite._fused").joinpath(name).read_text(encoding="utf-8")
