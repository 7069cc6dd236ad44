"""The asymmetry tracker as a callback for a Lightning `Trainer`; Lightning is an optional extra."""

from __future__ import annotations

import importlib.util
from typing import Any

from torch import Tensor

from symscope.errors import InputError
from symscope.linear._weighted_elements import Symmetry
from symscope.numerics import checked


@checked
def lightning_callback(x: Tensor, symmetry: Symmetry, **options: Any) -> Any:
    """A callback for `Trainer(callbacks=[...])` that tracks the asymmetry of the module it trains.

    It records after optimiser steps, logs `asymmetry`, and holds the `AsymmetryTracker` as its `tracker`, on
    which `predict`, `table` and `save` work after fitting.

    Args:
        x: Inputs the asymmetry is measured on; moved to the module's device.
        symmetry: What acts on the inputs.
        **options: `outputs`, `weights`, `every`, `quadrature`, `samples`, `seed` of `AsymmetryTracker`.

    Returns:
        The callback. The Lightning module's `forward` is what is measured.

    Raises:
        InputError: Lightning is not installed, or an option does not exist.
    """
    known = {"outputs", "weights", "every", "quadrature", "samples", "seed"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InputError(f"expected options among {', '.join(sorted(known))}, got {', '.join(unknown)}.")
    if not any(importlib.util.find_spec(name) for name in ("lightning", "pytorch_lightning")):
        raise InputError("Lightning is not installed: pip install lightning.")
    from symscope.linear._lightning_class import AsymmetryCallback

    return AsymmetryCallback(x, symmetry, options)
