"""The error for what has no infinite-width form."""

from __future__ import annotations

from typing import final

from symscope.errors import InputError


@final
class UnsupportedLayer(InputError):  # noqa: N818 - named for what is wrong
    """A layer without an infinite-width kernel; names the layer and points to the finite-width one.

    >>> UnsupportedLayer("features.2", "MaxPool2d", "a maximum is not Gaussian").layer
    'features.2'
    """

    def __init__(self, layer: str, kind: str, reason: str) -> None:
        super().__init__(
            f"layer {layer!r} ({kind}) has no infinite-width form: {reason}. "
            "Use the finite-width kernel instead: symscope.kernels.empirical_ntk(module)."
        )
        self.layer = layer
