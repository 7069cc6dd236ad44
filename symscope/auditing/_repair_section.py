"""The section on remedies of an audit's page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from symscope.auditing._audit_figures import repairs_figure
from symscope.auditing._page_parts import percent, svg_element
from symscope.auditing._repair import Repair, best_repair
from symscope.auditing._result import Audit
from symscope.report import Block, Command, Note, Picture, Section, Table, Text


def repairs_section(audit: Audit) -> Section:
    """What was applied, what it changed and cost, and how to keep the best."""
    applied = [one for one in audit.repairs if one.module is not None]
    best = best_repair(audit.repairs)
    blocks: list[Block] = [Text(_best_words(best) if applied else "No remedy was applied.")]
    if applied and len(applied[0].elements) < len(audit.elements):
        blocks.append(Note(f"Remedies are for these elements alone: {', '.join(applied[0].elements)}."))
    if any(one.everywhere_after and not math.isnan(one.everywhere_after.value) for one in applied):
        blocks.append(
            Picture(
                svg_element(repairs_figure(applied), "repairs", "Scores before and after each remedy."),
                "Before and after",
                "Open: before; filled: after, with 95 % intervals, on held-out samples.",
            )
        )
    if applied:
        blocks += [_repair_table(applied), _limits_table(applied)]
    refused = tuple((one.name, one.reason) for one in audit.repairs if one.module is None)
    if refused:
        blocks.append(Table("Not applied", ("remedy", "reason"), refused))
    if best is not None:
        place = audit.repairs.index(best)
        save = f'save_repaired(audit.repairs[{place}], "repaired.pt")  # {best.name}'
        blocks += [
            Text("To keep the repaired network: save it, and put it together again from its own code."),
            Command(f"from symscope.auditing.repairs import save_repaired\n{save}\n\n{best.recipe}"),
        ]
    return Section("Remedies", tuple(blocks), anchor="remedies")


def _best_words(best: Repair | None) -> str:
    if best is None:
        return "No remedy that was tried makes it better."
    assert best.error_before is not None
    assert best.error_after is not None
    words = (
        f"The best of those tried: {best.name}. The error goes from {percent(best.error_before.value)} to "
        f"{percent(best.error_after.value)}"
    )
    before, after, gain = best.everywhere_before, best.everywhere_after, best.upright_gain
    if before is None or after is None or math.isnan(after.value):
        return f"{words}."
    form = ".1%" if best.classes else ".3g"
    what = "accuracy" if best.classes else "root mean square error"
    words += f", the {what} over all transformations from {before.value:{form}} to {after.value:{form}}"
    if gain is not None and gain.high < 0:
        words += f"; upright it is worse by {-gain.value:{form}}"
    return f"{words}. An answer takes {best.slowdown:.1f} times as long."


def _repair_table(applied: Sequence[Repair]) -> Table:
    classes = applied[0].classes
    what = "accuracy" if classes else "root mean square error"

    def change(before: Any, after: Any, form: str) -> str:
        if before is None or math.isnan(after.value):
            return "–"
        return f"{before.value:{form}} to {after.text(form)}"

    form = ".1%" if classes else ".3g"
    rows = tuple(
        (
            one.name,
            one.outcome,
            change(one.error_before, one.error_after, ".1%"),
            change(one.everywhere_before, one.everywhere_after, form),
            change(one.upright_before, one.upright_after, form),
            f"{one.slowdown:.1f} times ({one.passes} {'pass' if one.passes == 1 else 'passes'})",
        )
        for one in applied
    )
    columns = (
        "remedy",
        "outcome",
        "equivariance error",
        f"{what}, all transformations",
        f"{what}, upright",
        "time of an answer",
    )
    return Table("Remedies, each applied to a copy of the network: before, and after", columns, rows)


def _limits_table(applied: Sequence[Repair]) -> Table:
    rows = tuple(
        (
            one.name,
            one.details or "–",
            f"{one.fitted:,} fitted, {one.judged:,} judged",
            f"{one.seconds:.1f} s",
            one.does_not_fix,
        )
        for one in applied
    )
    columns = ("remedy", "settings", "samples", "took", "what it does not fix")
    return Table("What they are fitted to, and what they do not fix", columns, rows)
