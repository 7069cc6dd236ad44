"""Figures: written the same every time, readable on light and dark pages, without touching global state."""

from __future__ import annotations

import matplotlib
import pytest
import torch

from symscope import InputError
from symscope.report import (
    COLOURS,
    RIGHT,
    WRONG,
    draw_sample,
    figure_bytes,
    irrep_figure,
    new_figure,
    orbit_figure,
    save_figure,
    style,
)
from tests.report.contrast import contrast


def drawn():
    figure = new_figure(3, 2)
    with style():
        axes = figure.subplots()
        axes.plot([0, 1, 3], [2, 1, 5], label="a line")
        axes.legend()
    return figure


@pytest.mark.parametrize(("format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_same_figure_gives_the_same_bytes(format, start):
    first = figure_bytes(drawn(), format)
    assert first.startswith(start)
    assert figure_bytes(drawn(), format) == first


def test_drawing_changes_no_global_setting():
    before = dict(matplotlib.rcParams)
    figure_bytes(drawn(), "svg")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("colour", [*COLOURS, RIGHT, WRONG])
@pytest.mark.parametrize("paper", ["#ffffff", "#14171a"])
def test_every_line_stands_out_on_both_papers(colour, paper):
    assert contrast(colour, paper) >= 3.0


def test_bad_sizes_formats_and_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="0 to 300 inches, got 0 x 3"):
        new_figure(0, 3)
    with pytest.raises(InputError, match="svg, png or pdf, got 'gif'"):
        figure_bytes(drawn(), "gif")
    with pytest.raises(InputError, match="cannot write"):
        save_figure(drawn(), tmp_path / "nowhere" / "figure.png")
    save_figure(drawn(), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes() == figure_bytes(drawn(), "png")


def test_every_image_is_shown_where_it_belongs():
    images = torch.rand(2, 3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    figure = orbit_figure(images, rows=["a", "b"], columns=["e", "r", "s"], title="three")
    shown = [axes.images[0].get_array() for axes in figure.axes]
    for index, image in enumerate(images.flatten(0, 1)):
        assert torch.equal(torch.tensor(shown[index].tolist(), dtype=torch.float64), image)
    assert [axes.get_title() for axes in figure.axes[:3]] == ["e", "r", "s"]
    # one scale of grey for all, or elements could not be compared
    assert len({axes.images[0].get_clim() for axes in figure.axes}) == 1


def test_bad_input_is_refused():
    images = torch.zeros(1, 2, 3, 3)
    with pytest.raises(InputError, match="expected 1 row and 2 column labels"):
        orbit_figure(images, rows=["a"], columns=["e"], title="")
    with pytest.raises(InputError, match="not finite"):
        orbit_figure(images.log() * 0, rows=["a"], columns=["e", "r"], title="")


def test_three_channels_are_colours_and_others_grey():
    images = torch.zeros(1, 1, 3, 2, 4)
    images[0, 0, 0, 0, 1] = 4.0  # red
    images[0, 0, 2, 1, 3] = 2.0  # half as bright, blue
    figure = orbit_figure(images, rows=["a"], columns=["e"], title="Colours")
    [shown] = figure.axes[0].get_images()
    pixels = shown.get_array()
    assert pixels.shape == (2, 4, 3)
    assert pixels[0, 1].tolist() == [1.0, 0.0, 0.0]
    assert pixels[1, 3].tolist() == [0.0, 0.0, 0.5]
    figure = orbit_figure(images[:, :, :2], rows=["a"], columns=["e"], title="Two channels")
    [shown] = figure.axes[0].get_images()
    assert shown.get_array().tolist() == [[0.0, 2.0, 0.0, 0.0], [0.0] * 4]


def rows(count: int) -> list[dict[str, object]]:
    return [
        {"irrep": f"k={k}", "share": 1 / (k + 1), "weight": 0.2, "trivial": k == 0, "limits": k >= 5}
        for k in range(count)
    ]


def test_bars_are_shares_and_limiting_irreps_stand_out():
    from matplotlib.colors import to_hex

    axes = irrep_figure(rows(8), title="C15").axes[0]
    assert [bar.get_height() for bar in axes.patches] == [1 / (k + 1) for k in range(8)]
    assert [to_hex(bar.get_facecolor()) == WRONG for bar in axes.patches] == [k >= 5 for k in range(8)]
    assert to_hex(axes.patches[0].get_facecolor()) not in (WRONG, to_hex(axes.patches[1].get_facecolor()))
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"k={k}" for k in range(8)]
    assert axes.collections[0].get_offsets()[3].tolist() == [3.0, 0.2]


def test_many_irreps_keep_readable_labels():
    axes = irrep_figure(rows(33), title="C64").axes[0]
    assert len(axes.patches) == 33
    assert len(axes.get_xticklabels()) == 17


def test_rows_without_columns_are_refused():
    with pytest.raises(InputError, match="irrep, share, weight, trivial, limits"):
        irrep_figure([], title="")
    with pytest.raises(InputError, match="expected one row or more"):
        irrep_figure([{"irrep": "a", "share": 1.0}], title="")


@pytest.mark.parametrize(
    ("kind", "shape", "dots"),
    [("points", (7, 3), 7), ("points", (7, 2), 7), ("points", (5, 8), 5), ("graph", (6, 6), 6)],
)
def test_points_and_nodes_are_drawn_one_by_one(kind, shape, dots):
    axis = new_figure(2, 2).subplots()
    sample = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    draw_sample(axis, sample, kind)
    assert len(axis.collections[0].get_offsets()) == dots
    if kind == "graph":
        assert len(axis.lines) == 15


def test_series_are_lines_and_sets_are_rows():
    axis = new_figure(2, 2).subplots()
    draw_sample(axis, torch.randn(2, 9), "series")
    assert len(axis.lines) == 2
    draw_sample(axis, torch.rand(4, 3), "set")
    assert axis.images[0].get_array().shape == (4, 3)
