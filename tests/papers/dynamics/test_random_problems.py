"""Problems drawn for the experiments."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics import training_assumptions
from symscope.dynamics.layer_vectors import equivariant_split
from symscope_papers.dynamics.random_problems import (
    check_groups,
    natural_space,
    random_problem,
    taught_problem,
)


def drawn(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", ["C6", "D4", "S3", "C3xC3"])
def test_problems_are_sound_and_varied(name):
    seen = set()
    for seed in range(8):
        problem = random_problem(name, drawn(seed))
        assert all(one.holds for one in training_assumptions(problem))
        assert problem.y.numel() >= problem.network.equivariant_dimension
        seen.add(repr(problem.network))
    assert len(seen) > 3
    again = random_problem(name, drawn(3))
    assert torch.equal(again.x, random_problem(name, drawn(3)).x)


def test_images_are_translated():
    space = natural_space("C3xC3")
    image = torch.arange(9.0).reshape(3, 3)
    moved = space.act(1 * 3 + 2, image.flatten()).reshape(3, 3)
    assert torch.equal(moved, image.roll((1, 2), (0, 1)))


def test_students_start_in_e():
    problem, start = taught_problem("S3", 12, drawn(0))
    assert float(equivariant_split(problem.network, start).total_residual) < 1e-12
    assert problem.x.shape == (12, 9)


def test_bad_groups_are_refused():
    with pytest.raises(InputError, match="at least one name"):
        check_groups(())
    with pytest.raises(InputError, match="listed elements, got S10"):
        check_groups(("C4", "S10"))
