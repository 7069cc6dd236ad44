from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope_papers.linear.equations import equations
from symscope_papers.linear.equations.config import GROUPS, Equations, group_matrices
from tests.papers.linear.runs import FAILED, HOLDS, finished, verdicts

IFF = 15  # K_G positive definite if and only if X^T X is


def test_the_equations_hold_and_one_sentence_does_not(tmp_path):
    outcome, tables = finished(tmp_path, "linear/equations", "problems=1")
    result = verdicts(outcome.claims)
    assert [i for i, verdict in enumerate(result) if verdict is not HOLDS] == [IFF]
    assert result[IFF] is FAILED
    assert outcome.claims[IFF].measured == "1 sample under cyclic shifts: X^T X has rank 1, K_G rank 5"
    ranks = tables["ranks"]
    assert (ranks["rank"] == ranks["samples"]).all()
    agreeing = {**tables, "ranks": ranks.assign(group_rank=ranks["rank"], data_rank=ranks["rank"])}
    assert verdicts(equations.claims(Equations(), agreeing)) == [HOLDS] * len(result)
    numbers = tables["equations"].select_dtypes("number").columns
    wrong = {"equations": tables["equations"].copy(), "ranks": ranks.assign(group_rank=1, rows=0)}
    wrong["equations"][numbers] = 1e-3
    wrong["equations"]["least_eigenvalue"] = -1e-3
    assert verdicts(equations.claims(Equations(), wrong))[:-1] == [FAILED] * (len(result) - 1)


@pytest.mark.parametrize("name", GROUPS)
def test_matrices_form_a_group(name):
    g = group_matrices(name)
    assert torch.equal(g[0], torch.eye(g.shape[1], dtype=torch.float64))
    products = torch.einsum("aij,bjk->abik", g, g).flatten(0, 1)
    assert all(bool((g == product).all((1, 2)).any()) for product in products)


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="problems: expected 1 or more"):
        replace(Equations(), problems=0)
