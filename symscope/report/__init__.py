"""What a person looks at: figures in one style, and self-contained HTML pages."""

from __future__ import annotations

from symscope.report._inline_svg import inline_svg
from symscope.report._page import image_element
from symscope.report._figures import irrep_figure
from symscope.report._figures import draw_sample, orbit_figure
from symscope.report._page import fragment, page, slug, write_page
from symscope.report._page import (
    Block,
    Choices,
    Command,
    Facts,
    Note,
    Picture,
    Section,
    Table,
    Text,
    JudgedClaim,
)
from symscope.report._figures import (
    COLOURS,
    FAINT,
    INK,
    RIGHT,
    WRONG,
    figure_bytes,
    new_figure,
    save_figure,
    style,
)

__all__ = [
    "COLOURS",
    "FAINT",
    "INK",
    "RIGHT",
    "WRONG",
    "Block",
    "Choices",
    "Command",
    "Facts",
    "Note",
    "Picture",
    "Section",
    "Table",
    "Text",
    "JudgedClaim",
    "draw_sample",
    "figure_bytes",
    "fragment",
    "image_element",
    "inline_svg",
    "irrep_figure",
    "new_figure",
    "orbit_figure",
    "page",
    "save_figure",
    "slug",
    "style",
    "write_page",
]
