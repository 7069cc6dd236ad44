"""What a person looks at: figures in one style, and self-contained HTML pages."""

from __future__ import annotations

from symscope.report.blocks import Block, Command, Facts, Note, Picture, Section, Table, Text, Verdict
from symscope.report.files import write_whole
from symscope.report.irreps import irrep_figure
from symscope.report.orbits import draw_image, orbit_figure
from symscope.report.page import page, slug, write_page
from symscope.report.style import COLOURS, RIGHT, WRONG, figure_bytes, new_figure, save_figure, style
from symscope.report.svg import image_element, inline_svg

__all__ = [
    "COLOURS",
    "RIGHT",
    "WRONG",
    "Block",
    "Command",
    "Facts",
    "Note",
    "Picture",
    "Section",
    "Table",
    "Text",
    "Verdict",
    "draw_image",
    "figure_bytes",
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
    "write_whole",
]
