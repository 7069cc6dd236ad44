"""A discovery as a page: what was found, heat maps labelled by parameter names, held-out tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from symscope.discovery._discover import TEST_LIMIT, Discovery
from symscope.discovery._verification import Verification
from symscope.discovery.figures import generator_figure, matrix_maps
from symscope.discovery.known._hidden_spaces import unfollowed_parameters
from symscope.report import (
    COLOURS,
    Facts,
    Note,
    Picture,
    Section,
    Table,
    Text,
    figure_bytes,
    inline_svg,
    new_figure,
    page,
    style,
)

MAP_LIMIT = 9  # most heat maps of generators


def discovery_page(result: Discovery, title: str) -> str:
    """The whole page as HTML text, self-contained.

    Args:
        result: Discovery to show.
        title: Heading of the page.
    """
    sections = [_exact_section(result), _catalogue_section(result)]
    if result.learned is not None:
        sections.append(_learned_section(result))
    sections.append(_evidence_section(result))
    return page(title=title, lead=result.answer(), sections=sections)


def _exact_section(result: Discovery) -> Section:
    exact = result.exact
    if exact.method == "none":
        return Section("Exact symmetries", (Text("No exact search was asked for."),))
    if exact.method == "all":
        tried = "Every linear field was tried"
    else:
        tried = "Every field that mixes, rescales or shifts units between layers it could follow was tried"
        if left := unfollowed_parameters(result.problem):
            tried += f", which leaves out {', '.join(left[:8])}{' and others' if len(left) > 8 else ''}"
    blocks: list[Any] = [
        Text(
            f"{tried} ({exact.unknowns} unknowns, {exact.constraints} constraints from random parameters and "
            "data). What is listed changes no loss of any sample."
        ),
        Text(result.completeness()),
    ]
    shown = [*exact.translations, *exact.fields]
    if not shown:
        none = "the network has no continuous linear symmetry that ignores the data"
        follow = "no linear symmetry that ignores the data was found"
        blocks.append(Text(f"None: {none if exact.complete else follow}."))
        if result.tests:
            blocks += _failed(result)
        return Section("Exact symmetries", tuple(blocks), tally="0")
    if exact.fields:
        blocks.append(
            Facts(
                (
                    (
                        "Lie algebra",
                        result.algebra.name if result.algebra is not None else "too large to name",
                    ),
                    ("dimension", f"{'' if exact.complete else 'at least '}{exact.dimension}"),
                    ("translations", str(len(exact.translations))),
                    ("quantities gradient flow conserves", str(len(result.conserved))),
                )
            )
        )
    held = [test for test in result.tests if test.holds]
    blocks.append(_test_table("Held-out tests of the symmetries found", held))
    if len(held) < len(result.tests):
        blocks += _failed(result)
    if len(shown) > TEST_LIMIT:
        blocks.append(Note(f"Only the first {TEST_LIMIT} of {len(shown)} were tested one by one."))
    blocks.append(
        Picture(
            _svg(
                generator_figure(shown[:MAP_LIMIT], result.problem.layout),
                "exact",
                "Heat maps of generators.",
            ),
            "Generators",
            f"Row: the parameter that moves; column: the one it moves with. The first "
            f"{min(MAP_LIMIT, len(shown))} of {len(shown)}.",
        )
    )
    return Section("Exact symmetries", tuple(blocks), tally=str(len(shown)))


def _failed(result: Discovery) -> list[Any]:
    """Fields that were symmetries at all points the search drew, and are none farther away."""
    failed = [test for test in result.tests if not test.holds]
    caption = "Not counted: fields the search gave that fail the held-out test"
    note = "They keep the losses at the parameters drawn only: farther away an activation changes its form."
    return [_test_table(caption, failed), Note(note)]


def _catalogue_section(result: Discovery) -> Section:
    rows = tuple(
        (
            entry.symmetry.name,
            entry.symmetry.kind,
            str(entry.symmetry.dimension or "discrete"),
            "holds" if entry.holds else entry.tests[0].verdict.value,
            f"{max(test.loss_drift for test in entry.tests):.1e}",
        )
        for entry in result.catalogue
    )
    columns = ("symmetry", "kind", "dimension", "on held-out points", "loss drift")
    numeric = (False, False, True, False, True)
    blocks: tuple[Any, ...] = (
        (Table("Known symmetries of these layers, tested on this model", columns, rows, numeric),)
        if rows
        else (Text("No layer of this model is in the catalogue of known symmetries."),)
    )
    return Section("Known symmetries of its layers", blocks, tally=str(len(rows)))


def _learned_section(result: Discovery) -> Section:
    learned, layout = result.learned, result.problem.layout
    assert learned is not None
    kind = "one that sees the sample" if learned.dependent else "one that does not see data"
    best = int(learned.totals().argmin())
    everything = torch.arange(result.problem.size)
    points = result.problem.random_points(max(200, 4 * result.problem.size), 1, seed=learned.seeds[0] + 1)
    maps = []
    for number, value in enumerate(learned.values(best, points)[:MAP_LIMIT]):
        matrix = torch.linalg.lstsq(points.theta, value).solution.T
        maps.append((f"learned field {number + 1}: best linear fit", matrix, everything))
    blocks = (
        Text(
            f"An action network ({kind}) and {learned.generators.shape[1]} generators were trained together. "
            "Learned fields are never exact: compare their drift with that of random fields."
        ),
        _test_table("Held-out tests, all seeds", [test for tests in result.learned_tests for test in tests]),
        Picture(
            _svg(matrix_maps(maps, layout, 3), "learned", "Heat maps of learned fields."),
            "Learned fields",
            f"The matrix M that best describes the field as V(θ) = Mθ; best seed, the first {len(maps)} of "
            f"{learned.generators.shape[1]}.",
        ),
        Picture(
            _svg(_curves(result), "curves", "Held-out objective against training steps."), "Training curves"
        ),
    )
    return Section("Learned symmetries", blocks, tally=str(learned.generators.shape[1]))


def _curves(result: Discovery) -> Any:
    learned = result.learned
    assert learned is not None
    figure = new_figure(6.4, 3.2)
    with style():
        axes = figure.subplots()
        for colour, name in zip(
            COLOURS, ("invariance", "identity", "axiom", "norm", "orthogonality"), strict=False
        ):
            values = learned.curves[name].double().cpu().numpy()
            if np.abs(values).max() > 0:
                lines = axes.semilogy(learned.recorded_steps, np.maximum(values, 1e-6), color=colour)
                lines[0].set_label(name)
        axes.set(xlabel="step", ylabel="held-out value")
        axes.grid(True)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _test_table(caption: str, tests: Sequence[Verification]) -> Table:
    columns = ("symmetry", "verdict", "loss drift", "random field", "output drift", "group law")
    rows = tuple(
        (
            test.name,
            test.verdict.value,
            f"{test.loss_drift:.1e}",
            f"{test.random_loss_drift:.1e}",
            f"{test.output_drift:.1e}",
            "–" if test.group_law is None else f"{test.group_law:.1e}",
        )
        for test in tests
    )
    return Table(caption, columns, rows, (False, False, True, True, True, True))


def _evidence_section(result: Discovery) -> Section:
    problem = result.problem
    spaces = result.exact.null_spaces
    chance = max((space.chance for space in spaces if space.dimension), default=None)
    gap = min((space.gap for space in spaces if space.dimension), default=None)
    entries = [("parameters", str(problem.size)), ("weights", ", ".join(problem.layout.names))]
    if chance is not None and gap is not None:
        entries += [
            ("smallest gap in singular values", f"{gap:.1e} times"),
            ("largest chance of such a gap by accident", f"{chance:.1e}" if chance > 0 else "below 1e-300"),
        ]
    if result.tests:
        first = result.tests[0]
        entries.append(
            (
                "held-out test",
                f"{first.points} parameter vectors; a symmetry that passes fails on less than "
                f"{first.failing_share:.0%} of points with confidence {1 - first.level:.0%}",
            )
        )
    table = Table("What the answer rests on", ("what", "measured"), tuple(entries), (False, False))
    return Section("Evidence", (table,))


def _svg(figure: Any, prefix: str, alt: str) -> str:
    return inline_svg(figure_bytes(figure, "svg").decode(), prefix=prefix, alt=alt)
