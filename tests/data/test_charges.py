"""Charges by equilibration and dipoles: the constrained minimum solved outright, and how they transform."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.data._charges import COULOMB, DEBYE, ELECTRONEGATIVITY, HARDNESS, NUMBERS
from symscope.data.molecules import dipoles, equilibrated_charges
from symscope.groups.polyhedral import icosahedral


def molecule(seed, atoms=6):
    generator = torch.Generator().manual_seed(seed)
    positions = 1.5 * torch.randn(2, atoms, 3, generator=generator, dtype=torch.float64)
    elements = torch.tensor(NUMBERS)[torch.randint(len(NUMBERS), (2, atoms), generator=generator)]
    return positions, elements


def test_charges_solve_the_equations_with_a_multiplier_written_out_atom_by_atom():
    positions, elements = molecule(0)
    for places, numbers, charges in zip(
        positions, elements, equilibrated_charges(positions, elements), strict=True
    ):
        n = len(numbers)
        matrix, right = (
            torch.zeros(n + 1, n + 1, dtype=torch.float64),
            torch.zeros(n + 1, dtype=torch.float64),
        )
        for i in range(n):
            a = NUMBERS.index(int(numbers[i]))
            right[i] = -ELECTRONEGATIVITY[a]
            matrix[i, n] = matrix[n, i] = 1.0
            for j in range(n):
                hardness = (HARDNESS[a] + HARDNESS[NUMBERS.index(int(numbers[j]))]) / 2
                r = float((places[i] - places[j]).norm())
                matrix[i, j] = COULOMB / (r**2 + (COULOMB / hardness) ** 2) ** 0.5
        torch.testing.assert_close(charges, torch.linalg.solve(matrix, right)[:n])
        assert float(charges.sum()) == pytest.approx(0, abs=1e-12)


@given(st.integers(0, 50), st.booleans())
def test_dipoles_turn_and_mirror_with_positions_whatever_the_origin_and_order(seed, mirrored):
    positions, elements = molecule(seed)
    before = dipoles(positions, elements)
    turn = icosahedral(inversion=True).matrices[2 * (seed % 60) + mirrored]
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    shift = torch.tensor([3.0, -1.0, 7.0], dtype=torch.float64)
    after = dipoles((positions @ turn.T + shift)[:, order], elements[:, order])
    torch.testing.assert_close(after, before @ turn.T, rtol=1e-9, atol=1e-9)


def test_places_without_an_atom_have_no_charge_and_change_nothing():
    positions, elements = molecule(4)
    padded = torch.cat([positions, torch.zeros(2, 3, 3, dtype=torch.float64)], 1)
    none = torch.cat([elements, torch.zeros(2, 3, dtype=torch.int64)], 1)
    charges = equilibrated_charges(padded, none)
    assert torch.equal(charges[:, 6:], torch.zeros(2, 3, dtype=torch.float64))
    torch.testing.assert_close(charges[:, :6], equilibrated_charges(positions, elements))


def test_two_atoms_apart_have_the_dipole_of_their_charge_along_the_bond():
    x = torch.tensor([[[0.0, 0, 0], [0, 0, 1.27]]], dtype=torch.float64)
    elements = torch.tensor([[1, 17]])
    charge = float(equilibrated_charges(x, elements)[0, 0])
    assert 0 < charge < 1  # hydrogen gives to chlorine
    expected = torch.tensor([[0.0, 0.0, -DEBYE * charge * 1.27]], dtype=torch.float64)
    torch.testing.assert_close(dipoles(x, elements), expected)


@pytest.mark.parametrize(
    ("positions", "elements", "message"),
    [
        (torch.zeros(1, 2, 2), torch.tensor([[1, 1]]), "expected positions"),
        (torch.zeros(1, 2, 3), torch.tensor([[1, 1, 1]]), "expected positions"),
        (torch.zeros(1, 2, 3), torch.tensor([[1, 92]]), "expected atomic numbers of H.*got 92"),
        (torch.zeros(2, 2, 3), torch.tensor([[1, 1], [0, 0]]), "molecule 1 has no atoms"),
        (torch.full((1, 2, 3), torch.nan), torch.tensor([[1, 1]]), "positions"),
    ],
)
def test_bad_molecules_are_refused(positions, elements, message):
    with pytest.raises((InputError, TypeError), match=message):
        dipoles(positions, elements)
