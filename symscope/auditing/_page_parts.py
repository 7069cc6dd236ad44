"""What the sections of an audit's page share: pictures and numbers in words."""

from __future__ import annotations

import math
from typing import Any

from symscope.report import figure_bytes, inline_svg


def svg_element(figure: Any, prefix: str, alt: str) -> str:
    """A figure as part of the page."""
    return inline_svg(figure_bytes(figure, "svg").decode(), prefix=prefix, alt=alt)


def percent(value: float, digits: int = 1) -> str:
    """A share in per cent; a dash where nothing was measured."""
    return "–" if math.isnan(value) else f"{value:.{digits}%}"
