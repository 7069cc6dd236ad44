"""Known symmetries of standard layers, found in a module by following its units."""

from __future__ import annotations

from symscope.discovery.known._catalogue import KnownSymmetry, VerifiedSymmetry, catalogue, verified_catalogue
from symscope.discovery.known._hidden_spaces import hidden_spaces
from symscope.discovery.known._spaces import HiddenSpace

__all__ = [
    "HiddenSpace",
    "KnownSymmetry",
    "VerifiedSymmetry",
    "catalogue",
    "hidden_spaces",
    "verified_catalogue",
]
