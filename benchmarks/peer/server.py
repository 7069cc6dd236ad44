"""The peer's side of the run, in the peer's own environment: neural-tangents at a given setting."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

# Its experimental part needs TensorFlow and nothing here needs that part: an empty module takes its place.
sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")

import jax  # noqa: E402
import neural_tangents as nt  # noqa: E402
from neural_tangents import stax  # noqa: E402

from benchmarks.protocol import serve  # noqa: E402


def network(job: dict[str, Any]) -> Any:
    """The kernel function of a case."""
    bias = None if job["conv"] else 1.0
    layers: list[Any] = []
    for _ in range(job["conv"]):
        layers += [stax.Conv(4, (3, 3), padding="CIRCULAR", W_std=1.0, b_std=bias), stax.Relu()]
    if job["conv"]:
        layers.append(stax.GlobalAvgPool() if job["readout"] == "gap" else stax.Flatten())
    for _ in range(job["dense"]):
        layers += [stax.Dense(4, W_std=1.0, b_std=1.0), stax.Relu()]
    return stax.serial(*layers, stax.Dense(1, W_std=1.0, b_std=bias))[2]


def prepare(job: dict[str, Any], x: np.ndarray) -> Callable[[], Any]:
    """A function that computes the NTK Gram: compiled, with `nt.batch` where the setting has a batch size."""
    jax.config.update("jax_enable_x64", job["dtype"] == "float64")
    images = np.moveaxis(x, 1, -1) if job["conv"] else x.reshape(len(x), -1)
    images = jax.numpy.asarray(np.ascontiguousarray(images).astype(job["dtype"]))
    compiled = jax.jit(network(job), static_argnames="get")
    if job["batch"]:
        compiled = nt.batch(compiled, batch_size=job["batch"], device_count=0)
    return lambda: jax.block_until_ready(compiled(images, None, "ntk"))


if __name__ == "__main__":
    versions = {"neural-tangents": nt.__version__, "jax": jax.__version__, "numpy": np.__version__}
    if "--check" in sys.argv:
        print(versions)
    else:
        serve(prepare, versions)
