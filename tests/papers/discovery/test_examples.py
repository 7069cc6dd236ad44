"""The examples of the paper: what holds, what holds only as it is meant, and verdicts that can turn."""

from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.runs import Verdict
from symscope_papers.discovery.examples import examples
from symscope_papers.discovery.examples.config import Examples
from symscope_papers.discovery.examples.measure import homogeneous_activations, radial
from tests.papers.discovery.gathered import gathered

SMALL = Examples(degrees=(1.0, 2.5), seeds=(0,), draws=3, batch=4)


def test_what_the_paper_names_holds_and_its_group_is_too_large():
    tables = gathered(examples, SMALL)
    claims = examples.claims(SMALL, tables)
    judged = [claim for claim in claims if claim.verdict]
    holds, against = Verdict.HOLDS, Verdict.CONTRADICTED
    assert [c.verdict for c in judged] == [holds, against, *[holds] * 7, Verdict.NOT_TESTABLE]
    assert all(claim.quote for claim in judged)
    assert "ReLU, c = 1" in judged[1].why  # α = -1
    [found] = [
        claim.measured for claim in claims if claim.statement.startswith("Linear symmetries of a radial")
    ]
    assert found == 1
    [plot] = examples.plot(SMALL, tables)
    assert plot.name == "examples"
    worse = {"examples": tables["examples"].assign(value=0.5)}
    verdicts = [claim.verdict for claim in examples.claims(SMALL, worse) if claim.verdict]
    assert verdicts == [*[against] * 9, Verdict.NOT_TESTABLE]


def test_activations_are_homogeneous_for_positive_numbers_and_radial_ones_commute_with_rotations():
    x = torch.tensor([[-1.3, 0.4], [0.2, -2.0]], dtype=torch.float64)
    for f in homogeneous_activations(1.5).values():
        torch.testing.assert_close(f(3 * x), 3**1.5 * f(x))
    turn = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(radial(turn @ x), turn @ radial(x))


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="batch: expected 2 or more"):
        Examples(batch=1)
    with pytest.raises(InputError, match="degrees"):
        Examples(degrees=(0.0,))
