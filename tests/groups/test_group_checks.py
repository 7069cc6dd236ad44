from __future__ import annotations

import subprocess
import sys

import pytest

from symscope.errors import InputError
from symscope.groups import check_finite_group, cyclic, multiplicities, so, symmetric, trivial

# in a process of its own: here the run-time check of annotations would answer first
CALLS = """
import torch
from symscope.groups import *
from symscope.groups.fourier import *
from symscope.groups.group_products import *
from symscope.groups.irreducible import *
from symscope.groups.subgroups import *

rows, c4 = torch.ones(4), cyclic(4)
for given in (so(2), "C4", [1, 2]):
    for call in (
        lambda g: irreps(g), lambda g: character_table(g), lambda g: schur_error(g),
        lambda g: conjugate_indices(g), lambda g: fourier(rows, g), lambda g: inverse_fourier([rows], g),
        lambda g: coset_fourier(rows, g, [0]), lambda g: inverse_coset_fourier([(rows, rows)], g, [0]),
        lambda g: conjugacy_classes(g), lambda g: check_subgroup(g, [0]), lambda g: cosets(g, [0]),
        lambda g: stabiliser(g, 0), lambda g: is_normal(g, [0]), lambda g: as_group(g, [0]),
        lambda g: regular(g), lambda g: permutation(g), lambda g: from_matrices(g, rows),
        lambda g: direct_product(g, c4), lambda g: direct_product(c4, g),
        lambda g: semidirect_product(g, c4, rows), lambda g: semidirect_product(c4, g, rows),
    ):
        try:
            call(given)
        except ValueError as error:
            print(error)
"""


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (so(3), r"listed finite group, got SO\(3\), a compact group .* such as C8 for rotations"),
        (symmetric(9), r"got S9, which is known by generators only: list its elements with group.listed"),
        ("C4", r"got the text 'C4': read it with groups.parse\('C4'\)"),
        (4, "got int: make a group with groups.cyclic"),
    ],
)
def test_what_was_given_and_what_to_do(group, message):
    with pytest.raises(InputError, match=message):
        check_finite_group(group)


def test_a_finite_group_passes():
    group = cyclic(5)
    assert check_finite_group(group) is group


def test_representations_of_other_groups():
    with pytest.raises(InputError, match=r"listed finite group, got SO\(2\)"):
        multiplicities(trivial(so(2)))


def test_every_function_of_a_finite_group_asks():
    done = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * 21
    assert all(line.startswith("expected a listed finite group, got ") for line in lines)
