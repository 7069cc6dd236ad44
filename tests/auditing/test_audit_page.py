"""The page of an audit: every section for every kind of data, figures whole, users' words never code."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from symscope.auditing import Audit, Repair, audit, audit_page, audit_subject, consequences
from symscope.auditing._audit_figures import (
    causes_figure,
    elements_figure,
    heat_map,
    layers_figure,
    repairs_figure,
    symmetry_figure,
)
from symscope.auditing._data_sections import consequences_section, flip_pictures
from symscope.auditing._repair_section import repairs_section
from symscope.data import LabelledData, custom_action
from symscope.errors import InputError
from symscope.groups import cyclic
from symscope.report import Picture, Table, Text
from tests.auditing.trained import bars, classifier, regressor, tilts

NAMES = ("great <b>crested</b> grebe", "$5 x_ $", "a")


@pytest.fixture(scope="module")
def classes() -> Audit:
    return audit(classifier(), bars(60, seed=1), "C4 rotation", seconds=1.0, class_names=NAMES)


@pytest.fixture(scope="module")
def numbers() -> Audit:
    return audit(regressor(), tilts(60, seed=1), "C4 rotation", target_action="vector", seconds=1.0)


def test_a_page_has_every_section(classes, tmp_path: Path):
    classes.save(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    for words in (
        "Whose fault is it?",
        "By transformation",
        "By layer",
        "What it does to answers",
        "Should you want it?",
        "Remedies",
        "How to repeat it",
        "symscope.audit(net, (X, y)",
        "load_repaired",
        "Samples whose answer flips",
        "canonical pose, nearest to the data",
    ):
        assert words in page
    assert classes.verdict.split(".")[0] in page
    assert "great &lt;b&gt;crested&lt;/b&gt; grebe" in page
    assert "<b>crested" not in page
    assert "http:" not in page
    assert "https:" not in page  # it needs no network


def test_numbers_have_errors_in_their_units_instead_of_accuracy(numbers):
    tables = [block for block in consequences_section(numbers).blocks if isinstance(block, Table)]
    assert [table.caption for table in tables] == [
        "Root mean square errors of 60 samples by element, in units of the targets"
    ]
    assert len(tables[0].rows) == 8  # two numbers, four elements
    columns = next(b for b in repairs_section(numbers).blocks if isinstance(b, Table)).columns
    assert "root mean square error, all transformations" in columns


def test_an_invariant_network_has_a_page_without_causes():
    net = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 3))
    clean = audit(net, bars(24), "C4 rotation", seconds=1.0)
    assert clean.clean
    page = audit_page(clean)
    assert "Whose fault it is" not in page
    with pytest.raises(InputError, match="nothing to plot"):
        clean.plot()


def test_what_was_not_asked_is_left_out(classes):
    bare = replace(classes, consequences=None, data_symmetry=None, repairs=(), layers=(), local=None)
    page = audit_page(bare, "symscope audit --model nets.py:build")
    assert "symscope audit --model nets.py:build" in page
    for words in ("What it does to answers", "Should you want it?", "Remedies", "By layer"):
        assert words not in page


def test_remedies_that_were_not_applied_have_their_reason(classes):
    refused = (Repair("fine-tuning", None, "labels do not survive"),)
    words, table = repairs_section(replace(classes, repairs=refused)).blocks
    assert isinstance(words, Text)
    assert words.text == "No remedy was applied."
    assert isinstance(table, Table)
    assert table.rows[0] == ("fine-tuning", "labels do not survive")


def flips(found: Audit) -> str:
    """The picture of samples whose answer changes."""
    [picture] = flip_pictures(found)
    assert isinstance(picture, Picture)
    return picture.element


def test_flipped_samples_are_those_of_the_data_though_only_some_were_asked():
    found = audit(classifier(), bars(200, seed=1), "C4 rotation", seconds=1e-6, repairs=False)
    assert found.samples < 200
    subject = found.subject
    assert max(one.index for one in found.consequences.flipped) >= found.samples
    for one in found.consequences.flipped:
        x = subject.data.x[one.index][None]
        answers = subject.decisions(subject.outputs(torch.cat([x, subject.moved(one.element, x)])))
        assert answers.tolist() == [int(one.before), int(one.after)]


def test_series_are_drawn_as_lines_and_points_as_points(classes):
    empty = classes
    generator = torch.Generator().manual_seed(0)
    series = torch.rand(40, 1, 12, generator=generator)
    series[::2, :, :3] += 1
    data = LabelledData(series, torch.arange(40) % 2, "series", "drawn")
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 2, bias=False))
    with torch.no_grad():
        net[1].weight.zero_()
        net[1].weight[0, :3] = 5
        net[1].weight[1] = 1.7
    subject = audit_subject(net, data, "C4 shift-x")
    assert "<svg" in flips(replace(empty, subject=subject, consequences=consequences(subject)))

    points = torch.rand(40, 9, 2, generator=generator) - 0.5
    points[::2, :, 0] += 1

    def turned(g: int, x: torch.Tensor) -> torch.Tensor:
        for _ in range(g):
            x = torch.stack([-x[..., 1], x[..., 0]], -1)
        return x

    class Right(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, x):
            side = self.scale * (x[..., 0].mean(1) - 0.5)
            return torch.stack([side, -side], 1)

    cloud = LabelledData(points, torch.arange(40) % 2, "cloud", "drawn")
    own = custom_action(cyclic(4), turned, 2, "turn")
    subject = audit_subject(Right(), cloud, own)
    assert "<svg" in flips(replace(empty, subject=subject, consequences=consequences(subject)))
    assert "<img" in flips(empty)  # pixels


def inside(figure) -> None:
    """Nothing is cut: all words lie within the figure."""
    figure.draw_without_rendering()
    for axes in figure.axes:
        words = [axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            words += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        for one in words:
            if one.get_text():
                box = one.get_window_extent()
                assert figure.bbox.x0 - 1 <= box.x0 < box.x1 <= figure.bbox.x1 + 1, one
                assert figure.bbox.y0 - 1 <= box.y0 < box.y1 <= figure.bbox.y1 + 1, one


def test_figures_are_whole_and_labelled(classes, numbers):
    for figure in (
        causes_figure(classes),
        elements_figure(classes),
        layers_figure(classes),
        symmetry_figure(numbers),
        repairs_figure(numbers.repairs),
    ):
        inside(figure)
        assert figure.axes[0].get_xlabel()
    assert classes.plot().axes[0].get_xlabel() == "share of the squared error"


def test_bars_are_the_numbers_of_the_audit(classes):
    bars_drawn = [float(bar.get_width()) for bar in causes_figure(classes).axes[0].patches]
    assert bars_drawn == [one.share for one in classes.causes]
    heights = sorted(float(bar.get_height()) for bar in elements_figure(classes).axes[0].patches)
    assert heights == sorted(one.error for one in classes.elements)


def test_a_map_shows_numbers_and_leaves_out_what_is_unknown():
    values = torch.tensor([[0.25, 1.0], [float("nan"), 0.5]], dtype=torch.float64)
    figure = heat_map(
        values, ["a", "a very long name of a class that goes on and on"], ["0°", "90°"], "accuracy", 0.0
    )
    assert sorted(text.get_text() for text in figure.axes[0].texts) == ["0.25", "0.50", "1.00"]
    inside(figure)


def test_many_layers_and_elements_still_fit(classes):
    layer = classes.layers[0]
    many = tuple(
        replace(layer, layer=f"blocks.{k}.part.convolution", own=k / 40, own_fresh=math.nan)
        for k in range(40)
    )
    element = classes.elements[0]
    turns = tuple(replace(element, element=f"{5 * k}°", error=0.1) for k in range(72))
    crowded = replace(classes, layers=many, elements=turns)
    inside(layers_figure(crowded))
    inside(elements_figure(crowded))
    assert len(layers_figure(crowded).axes[0].get_yticklabels()) == 16


def test_another_ending_is_refused(classes, tmp_path: Path):
    with pytest.raises(InputError, match=r"\.html .* or \.json"):
        classes.save(tmp_path / "audit.pdf")


def test_outputs_without_targets_have_no_scores():
    net = nn.Conv2d(1, 1, 3, padding=1)
    found = audit(net, bars(24), "C4 rotation", target_action="image", seconds=1.0)
    assert found.consequences is None
    section = repairs_section(found)
    refused = next(
        block for block in section.blocks if isinstance(block, Table) and block.caption == "Not applied"
    )
    assert ("fine-tuning with a penalty", "the data has no targets for these outputs") in refused.rows
    assert not any(
        "nan" in cell
        for block in section.blocks
        if isinstance(block, Table)
        for row in block.rows
        for cell in row
    )
