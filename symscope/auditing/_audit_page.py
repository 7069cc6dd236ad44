"""An audit as one self-contained page: verdict, causes, elements, layers, consequences, data, remedies."""

from __future__ import annotations

import math

from symscope.auditing._audit_figures import causes_figure, elements_figure, layers_figure
from symscope.auditing._data_sections import consequences_section, data_section
from symscope.auditing._page_parts import percent, svg_element
from symscope.auditing._repair_section import repairs_section
from symscope.auditing._result import Audit
from symscope.numerics import explained
from symscope.report import Block, Command, Facts, JudgedClaim, Note, Picture, Section, Table, Text, page


@explained
def audit_page(audit: Audit, command: str = "") -> str:
    """The whole page as HTML text.

    Args:
        audit: The audit.
        command: Command line that made it, for the section on how to repeat it.
    """
    sections = [_answer(audit), _elements(audit)]
    if audit.layers:
        sections.append(_layers(audit))
    if audit.consequences is not None:
        sections.append(consequences_section(audit))
    if audit.data_symmetry is not None:
        sections.append(data_section(audit))
    if audit.repairs:
        sections.append(repairs_section(audit))
    sections.append(_repeat(audit, command))
    title = f"Why is {audit.subject.name} not symmetric?" if audit.causes else "Is it symmetric? Yes"
    return page(title=title, lead=audit.verdict, sections=sections)


def _answer(audit: Audit) -> Section:
    subject = audit.subject
    kind = "invariant" if subject.target is None else "equivariant"
    interval = f"{percent(audit.low)} to {percent(audit.high)}"
    blocks: list[Block] = [
        JudgedClaim(
            f"Equivariance error {percent(audit.error)}, 95 % interval {interval}.",
            "good" if audit.clean else "bad",
            f"{'' if audit.clean else 'not '}{kind} under {audit.symmetry}",
            why="Root mean square of f(x) and f(gx), moved back, over samples and elements, divided by what "
            f"varies between samples; {audit.samples:,} samples of {subject.data.name}, resampled.",
        )
    ]
    if audit.causes:
        blocks += [
            Picture(
                svg_element(
                    causes_figure(audit), "causes", "Bars of the share of each cause, with intervals."
                ),
                "Whose fault it is",
                "Shares of the squared error; lines are 95 % intervals over samples.",
            ),
            Table(
                "Causes, the largest first",
                ("cause", "share", "measured", "what to do"),
                tuple(
                    (
                        one.kind,
                        f"{one.share:.0%} ({one.low:.0%} to {one.high:.0%})",
                        one.sentence,
                        one.remedy,
                    )
                    for one in audit.causes
                ),
            ),
        ]
    blocks += [Note(note) for note in audit.notes]
    return Section("Whose fault is it?", tuple(blocks), anchor="causes")


def _elements(audit: Audit) -> Section:
    blocks: list[Block] = [
        Picture(
            svg_element(elements_figure(audit), "elements", "Bars of the error under each element."),
            "Error by element",
            "Elements that move samples exactly show the network alone; the others interpolate, which adds "
            "an error of its own.",
        )
    ]
    rows = []
    if not math.isnan(audit.smooth_error):
        rows.append(("elements that interpolate, on smoothed samples", percent(audit.smooth_error)))
    if audit.local is not None:
        local = audit.local
        rows += [
            (f"{local.step}", percent(local.first_step)),
            (
                f"{local.step}, if it grew as it begins at the identity (derivative by {local.method})",
                percent(local.per_step),
            ),
        ]
    if audit.start_errors:
        ends = f"{percent(min(audit.start_errors))} to {percent(max(audit.start_errors))}"
        rows.append((f"{len(audit.start_errors)} networks with fresh weights", ends))
    if rows:
        blocks.append(Table("The same error otherwise", ("of", "error"), tuple(rows), (False, True)))
    if audit.stability:
        blocks.append(Text(audit.stability))
    return Section("By transformation", tuple(blocks), anchor="elements")


def _layers(audit: Audit) -> Section:
    rows = [one for one in audit.layers if one.added >= 0.01 or percent(one.own) not in ("–", "0.0%")]
    table = Table(
        "Layers that break the symmetry",
        ("layer", "class", "own error", "in a fresh network", "adds to the error", "why"),
        tuple(
            (one.layer, one.kind, percent(one.own), percent(one.own_fresh), f"{one.added:.0%}", one.reason)
            for one in rows
        ),
        (False, False, True, True, True, False),
    )
    blocks: list[Block] = []
    if any(not math.isnan(one.own) for one in audit.layers):
        blocks.append(
            Picture(
                svg_element(layers_figure(audit), "layers", "Bars of the error of each layer by itself."),
                "Layers by themselves",
                "What a layer does to |L(ga) - gL(a)| / |L(a)|, for what it is given: what earlier layers "
                "break is not counted again.",
            )
        )
    blocks.append(table if rows else Text("No layer that could be measured breaks the symmetry."))
    return Section("By layer", tuple(blocks), anchor="layers")


def _repeat(audit: Audit, command: str) -> Section:
    subject = audit.subject
    facts = (
        ("network", f"{subject.name}, {sum(w.numel() for w in subject.module.parameters()):,} weights"),
        ("data", f"{subject.data.name}, {len(subject.data):,} samples ({subject.data.source})"),
        ("group and action", audit.symmetry),
        (
            "action on outputs",
            "none, they should not change" if subject.target is None else subject.target.name,
        ),
        ("device", str(subject.device)),
        ("time", f"{audit.seconds:.0f} s"),
    )
    moved = "" if subject.target is None else ", target_action=..."
    call = f'symscope.audit(net, (X, y), "{audit.symmetry}"{moved})'
    return Section("How to repeat it", (Command(command or call), Facts(facts)), anchor="repeat")
