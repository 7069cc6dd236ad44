"""The problems of Fig. 1 at two sizes."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope_papers.dynamics.fig1_problems import TASKS, averaged, fig1_problem


@pytest.mark.parametrize("task", TASKS)
def test_small_networks_are_of_the_make_of_the_paper(task):
    small = fig1_problem(task, "small", 40, mnist="sample", seed=0, device="cpu")
    whole = fig1_problem(task, "paper", 200, mnist="sample", seed=0, device="cpu")
    assert small.network.depth == whole.network.depth
    assert small.network.parameters < whole.network.parameters / 50
    assert small.x.dtype == torch.float64
    assert small.x.shape[:2] == (2, 20)
    with pytest.raises(InputError, match="task: expected one of"):
        fig1_problem("reflection", "small", 40, mnist="sample", seed=0, device="cpu")


def test_elements_are_drawn_only_where_there_are_many():
    few = fig1_problem("rotation", "small", 20, mnist="sample", seed=0, device="cpu")
    many = fig1_problem("permutation", "small", 20, mnist="sample", seed=0, device="cpu")
    assert averaged(few, 4, torch.Generator()) is None
    assert len(averaged(many, 4, torch.Generator())) == 4
