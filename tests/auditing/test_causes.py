"""The division of an error among causes: shares of made-up evidence that are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope.auditing import audit_subject
from symscope.auditing._action_faults import ActionFault
from symscope.auditing._causes import Evidence, find_causes, lacking_elements
from symscope.auditing._data_symmetry import DataSymmetry
from symscope.auditing._error_table import ErrorTable
from symscope.auditing._grid import GridPart
from symscope.auditing._input_invariance import ElementTest
from symscope.auditing._label_survival import LabelTest
from symscope.auditing._layer_shares import LayerShare
from symscope.groups import cyclic
from tests.auditing.planted import aligned, fresh, mlp

COUNT = 40


def table(*columns: float) -> ErrorTable:
    """Errors that are the same for all samples, so that intervals have no width."""
    squares = torch.tensor(columns, dtype=torch.float64).expand(COUNT, -1)
    return ErrorTable(tuple(range(1, len(columns) + 1)), squares, torch.ones(COUNT, dtype=torch.float64))


def share(layer: str, added: float, own: float, mixes: bool) -> LayerShare:
    return LayerShare(layer, "Linear", own, torch.full((5,), added, dtype=torch.float64), (64,), False, mixes)


def found(*verdicts: str, labels: tuple[LabelTest, ...] = (), elements: tuple[int, ...] = ()) -> DataSymmetry:
    """Data with a verdict for each element."""
    places = elements or range(1, len(verdicts) + 1)
    tests = tuple(
        ElementTest(g, str(g), None, 0.5, 0.4, 0.6, 1.0, 40, 0.0, word)
        for g, word in zip(places, verdicts, strict=True)
    )
    seen = (0, *(one.element for one in tests if one.verdict == "same"))
    different = "different" in verdicts
    return DataSymmetry(
        "data", "C4", 40, tests, (), None, different, seen, labels, (), "want", seen, ("why",)
    )


def evidence(**change) -> Evidence:
    """A trained ordinary network under three exact elements, with data that shows the symmetry."""
    subject = audit_subject(fresh(mlp), aligned(12), "C4 rotation")
    errors = change.pop("table", table(0.3, 0.3, 0.3))
    ordinary = (share("1", 0.3, 0.8, True),)
    given = {
        "subject": subject,
        "table": errors,
        "fault": None,
        "corrected": errors,
        "exact": (1, 2, 3),
        "grid": GridPart((), None, float("nan"), float("nan")),
        "shares": ordinary,
        "fresh_shares": (ordinary,),
        "start_errors": (1.0,),
        "start_words": "fresh weights",
        "symmetry": found("same", "same", "same"),
    }
    return Evidence(**(given | change))


def shares_of(one: Evidence) -> dict[str, float]:
    causes = find_causes(one, 0)
    assert sum(cause.share for cause in causes) == pytest.approx(1.0)
    assert all(cause.low <= cause.share <= cause.high for cause in causes)
    return {cause.kind: cause.share for cause in causes}


def test_an_ordinary_network_that_saw_the_symmetry_is_training_s():
    assert shares_of(evidence())["training"] == 1.0


def test_an_ordinary_network_that_saw_nothing_of_it_is_the_data_s():
    assert shares_of(evidence(symmetry=found("different", "different", "different")))["data"] == 1.0


def test_half_aligned_data_answers_for_what_the_elements_it_lacks_are_worse_by():
    errors = table(0.5, 0.1, 0.5)  # the data holds the second element
    parts = shares_of(evidence(table=errors, symmetry=found("different", "same", "different")))
    assert parts["data"] == pytest.approx(2 * 0.4 / 1.1)
    assert parts["training"] == pytest.approx(0.3 / 1.1)


def test_a_network_that_was_not_trained_is_its_architecture():
    untrained = replace(evidence().subject, trained=False)
    assert shares_of(evidence(subject=untrained))["architecture"] == 1.0


def test_layers_of_a_network_that_is_made_for_the_symmetry_answer_for_what_they_add():
    now = (share("kept", 0.0, 0.0, True), share("broken", 0.2, 0.5, False), share("drifted", 0.1, 0.4, True))
    start = (
        share("kept", 0.0, 0.0, True),
        share("broken", 0.3, 0.5, False),
        share("drifted", 0.0, 0.0, True),
    )
    parts = shares_of(evidence(shares=now, fresh_shares=(start,)))
    assert parts["architecture"] == pytest.approx(2 / 3)
    assert parts["training"] == pytest.approx(1 / 3)


def test_the_grid_takes_the_excess_of_rough_elements_up_to_the_round_trip():
    errors = table(0.5, 0.2, 0.3)  # the second is exact
    trips = ErrorTable((1, 3), torch.full((COUNT, 2), 0.25).double(), torch.ones(COUNT).double())
    grid = GridPart((1, 3), trips, float("nan"), float("nan"))
    parts = shares_of(evidence(table=errors, grid=grid, exact=(2,)))
    assert parts["grid"] == pytest.approx((0.25 + 0.1) / 1.0)
    assert parts["training"] == pytest.approx(0.65)


def test_a_corrected_action_takes_what_it_removes_and_broken_laws_take_everything():
    base = evidence()
    fault = ActionFault("wrong", "mend it", base.subject)
    parts = shares_of(evidence(fault=fault, corrected=table(0.03, 0.03, 0.03)))
    assert parts["action"] == pytest.approx(0.9)
    assert parts["training"] == pytest.approx(0.1)
    causes = find_causes(evidence(fault=ActionFault("no law", "mend it", None)), 0)
    assert (causes[0].kind, causes[0].share, causes[0].sentence) == ("action", 1.0, "no law")


def test_elements_that_were_not_tested_are_as_the_nearest_one():
    assert lacking_elements(found("same", "different", elements=(1, 5)), cyclic(8)) == {4, 5}
    mixed = LabelTest(6, 9, 1, 0.5, 0.4, 0.6, 1.0, 0.9, 0.0, 40)
    assert lacking_elements(found("same", "same", "same", labels=(mixed,)), cyclic(4)) == {1, 3}
