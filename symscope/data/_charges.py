"""Partial charges of atoms and dipoles of molecules from a classical formula: charge equilibration.

Rappé and Goddard, J. Phys. Chem. 95 (1991) 3358, with their electronegativities and hardnesses; the repulsion
of two charges is Ohno's (Theor. Chim. Acta 2 (1964) 219) instead of Slater integrals. Charges depend on
distances and elements alone, so that dipoles turn and mirror with the positions.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_finite, checked

SYMBOLS = ("H", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Br", "I")
NUMBERS = (1, 6, 7, 8, 9, 14, 15, 16, 17, 35, 53)
ELECTRONEGATIVITY = (4.528, 5.343, 6.899, 8.741, 10.874, 4.168, 5.463, 6.928, 8.564, 7.790, 6.822)  # eV
HARDNESS = (13.8904, 10.126, 11.760, 13.364, 14.948, 6.974, 8.000, 8.972, 9.892, 8.850, 7.524)  # eV
COULOMB = 14.399645  # eV angstrom, of two elementary charges
DEBYE = 4.803205  # of an elementary charge and an angstrom


@checked
def equilibrated_charges(
    positions: Float[Tensor, "*positions"], elements: Int64[Tensor, "*elements"]
) -> Float[Tensor, "n atoms"]:
    """Charges q of neutral molecules that minimise `chi q + 1/2 q J q` with sum 0, in elementary charges.

    `J_ij = c / sqrt(r_ij^2 + (2 c / (J_i + J_j))^2)` in eV, `J_ii` the hardness, c the Coulomb constant.

    Args:
        positions: Positions of the atoms in angstrom.
        elements: Atomic numbers; 0 where there is no atom.

    Raises:
        InputError: Shapes that do not match, positions that are not finite, an element without parameters, or
            a molecule without atoms.

    >>> water = torch.tensor([[[0.0, 0, 0.117], [0, 0.757, -0.47], [0, -0.757, -0.47]]], dtype=torch.float64)
    >>> equilibrated_charges(water, torch.tensor([[8, 1, 1]])).round(decimals=2).tolist()
    [[-1.04, 0.52, 0.52]]
    """
    there = _check_molecules(positions, elements)
    chi, hardness = (_per_element(values, elements).to(positions) for values in (ELECTRONEGATIVITY, HARDNESS))
    apart = torch.cdist(positions, positions, compute_mode="donot_use_mm_for_euclid_dist")
    near = 2 * COULOMB / (hardness[:, :, None] + hardness[:, None])
    repulsion = COULOMB / (apart.square() + near.square()).sqrt()
    both = there[:, :, None] & there[:, None]
    size = positions.shape[1]
    # absent atoms: charge 0, by a row of the identity
    matrix = torch.where(both, repulsion, torch.eye(size, dtype=positions.dtype, device=positions.device))
    shares = there.to(positions)
    right = torch.stack([torch.where(there, -chi, 0.0), shares], dim=-1)
    plain, unit = torch.linalg.solve(matrix, right).unbind(-1)
    potential = (shares * plain).sum(1, keepdim=True) / (shares * unit).sum(1, keepdim=True)
    return plain - potential * unit


@checked
def dipoles(
    positions: Float[Tensor, "*positions"], elements: Int64[Tensor, "*elements"]
) -> Float[Tensor, "n 3"]:
    """Dipoles of neutral molecules, `sum_i q_i x_i`, in debye.

    `mu(R x) = R mu(x)` for every rotation and reflection R: a target that transforms as a vector. They are of
    the size of measured dipoles, and mostly larger: water has 2.9, measured 1.85.

    Args:
        positions: Positions of the atoms in angstrom, from any origin.
        elements: Atomic numbers; 0 where there is no atom.

    Raises:
        InputError: As for `equilibrated_charges`.

    >>> water = torch.tensor([[[0.0, 0, 0.117], [0, 0.757, -0.47], [0, -0.757, -0.47]]], dtype=torch.float64)
    >>> dipoles(water, torch.tensor([[8, 1, 1]])).round(decimals=1).abs().tolist()
    [[0.0, 0.0, 2.9]]
    """
    return DEBYE * torch.einsum("na,nai->ni", equilibrated_charges(positions, elements), positions)


def _per_element(values: tuple[float, ...], elements: Int64[Tensor, "n atoms"]) -> Float[Tensor, "n atoms"]:
    table = torch.ones(max(NUMBERS) + 1, dtype=torch.float64)  # of no atom: anything but 0
    table[list(NUMBERS)] = torch.tensor(values, dtype=torch.float64)
    return table.to(elements.device)[elements]


def _check_molecules(
    positions: Float[Tensor, "*positions"], elements: Int64[Tensor, "*elements"]
) -> Bool[Tensor, "n atoms"]:
    if positions.ndim != 3 or positions.shape[-1] != 3 or elements.shape != positions.shape[:2]:
        raise InputError(
            f"expected positions [n, atoms, 3] and elements [n, atoms], got {tuple(positions.shape)} and "
            f"{tuple(elements.shape)}."
        )
    check_finite("positions", positions)
    unknown = elements[~torch.isin(elements, torch.tensor((0, *NUMBERS), device=elements.device))]
    if len(unknown):
        known = ", ".join(SYMBOLS)
        raise InputError(
            f"elements: expected atomic numbers of {known}, or 0 for no atom, got {int(unknown[0])}."
        )
    there = elements > 0
    if not bool(there.any(1).all()):
        raise InputError(f"molecule {int((~there.any(1)).nonzero()[0])} has no atoms; leave it out.")
    return there
