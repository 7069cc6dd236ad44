"""Real molecules with positions: dipoles, which turn with them, and handedness, which mirrors exchange.

For whoever asks about rotations of space. Geometries are the ideal coordinates of the Chemical Component
Dictionary that `biotite` brings along (`pip install symscope[molecules]`): nothing is downloaded.
`dipole_samples`, `handed_samples` and `ring_samples` need no arguments, so that the command line takes them:

    symscope forecast --data symscope.data.molecules:dipole_samples --group O --target-action vector
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from numpy.typing import NDArray
from torch import Tensor

from symscope.data._charges import NUMBERS, SYMBOLS, dipoles, equilibrated_charges
from symscope.data._labelled import LabelledData
from symscope.data._measured import MeasuredData
from symscope.errors import InputError
from symscope.numerics import check_count, checked

__all__ = [
    "Molecules",
    "dipole_samples",
    "dipoles",
    "equilibrated_charges",
    "handed_samples",
    "molecules",
    "ring_samples",
    "signed_volumes",
]

NUMBER_OF = dict(zip(SYMBOLS, NUMBERS, strict=True))
SPHERES = 4  # bonds from a stereocentre within which its neighbours must differ


@final
@dataclass(frozen=True, eq=False)
class Molecules:
    """Molecules of up to so many atoms, padded with none.

    Attributes:
        names: Names of the components in the dictionary.
        positions: Positions in angstrom, from the mean of each molecule's atoms; 0 where there is no atom.
        elements: Atomic numbers; 0 where there is no atom.
    """

    names: tuple[str, ...]
    positions: Float64[Tensor, "n atoms 3"]
    elements: Int64[Tensor, "n atoms"]

    def clouds(self) -> Float64[Tensor, "n atoms columns"]:
        """Points with three coordinates and a column of ones and zeros for each element that occurs.

        >>> one = Molecules(("x",), torch.zeros(1, 3, 3, dtype=torch.float64), torch.tensor([[8, 1, 0]]))
        >>> one.clouds()[0, :, 3:].tolist()
        [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
        """
        kinds = self.elements[self.elements > 0].unique()
        return torch.cat([self.positions, (self.elements[..., None] == kinds).double()], dim=-1)


@checked
def molecules(
    heavy_atoms: int | None = None,
    *,
    names: Sequence[str] = (),
    elements: Sequence[str] = ("H", "C", "N", "O"),
    limit: int | None = None,
) -> Molecules:
    """Neutral molecules of the dictionary, with hydrogens, in the order of their names.

    Args:
        heavy_atoms: Number of atoms other than hydrogen, of all molecules.
        names: Components by name, "ALA", in this order, instead of all with so many heavy atoms.
        elements: Elements a molecule may have.
        limit: Most molecules to take, evenly spread over all names; all when not given.

    Raises:
        InputError: No biotite, neither or both of a number and names, an unknown element, a name that is not
            in the dictionary, or has a charge, other elements or no coordinates; or no molecule that fits.
    """
    if (heavy_atoms is None) == (not names):
        raise InputError("expected a number of heavy atoms or names of components, one of the two.")
    unknown = [symbol for symbol in elements if symbol not in NUMBER_OF]
    if unknown:
        raise InputError(f"elements: expected some of {', '.join(SYMBOLS)}, got {unknown[0]!r}.")
    book = _dictionary()
    fits = book.usable([NUMBER_OF[symbol] for symbol in elements])
    if names:
        chosen = np.array([_named(book, name) for name in names])
        unfit = book.names[chosen[~fits[chosen]]]
        if len(unfit):
            raise InputError(
                f"names: {unfit[0]} is charged, lacks coordinates or has elements other than "
                f"{', '.join(elements)}; leave it out, or name the elements."
            )
    else:
        chosen = np.flatnonzero(fits & (book.heavy == heavy_atoms))
        chosen = chosen[np.argsort(book.names[chosen])]
    if not len(chosen):
        raise InputError(
            f"no neutral molecule of {', '.join(elements)} in the dictionary has {heavy_atoms} heavy atoms."
        )
    if limit is not None and limit < len(chosen):
        chosen = chosen[np.linspace(0, len(chosen) - 1, check_count("limit", limit)).round().astype(np.int64)]
    return book.take(chosen)


def _named(book: _Dictionary, name: str) -> int:
    found = np.flatnonzero(book.names == name)
    if not len(found):
        raise InputError(f"names: {name!r} is not in the Chemical Component Dictionary.")
    return int(found[0])


@checked
def dipole_samples(heavy_atoms: int = 7) -> MeasuredData:
    """Molecules of H, C, N and O as point clouds, and their dipoles by `dipoles`, in debye.

    Args:
        heavy_atoms: Number of atoms other than hydrogen.

    Raises:
        InputError: As for `molecules`.
    """
    taken = molecules(heavy_atoms)
    targets = dipoles(taken.positions, taken.elements)
    source = "Chemical Component Dictionary, dipoles by charge equilibration"
    return MeasuredData(taken.clouds(), targets, f"molecules of {heavy_atoms} heavy atoms", source)


@checked
def handed_samples(most_heavy_atoms: int = 12) -> LabelledData:
    """The four neighbours of stereocentres, S (class 0) or R (class 1) as the dictionary has it.

    Molecules with one stereocentre. A sample is four points around it, in angstrom, in the order of the first
    rule of Cahn, Ingold and Prelog as far as atomic numbers within four bonds decide it; the sign of
    `signed_volumes` agrees with the label for 1,034 of 1,046 samples; the others keep the dictionary's label.
    Rotations keep R and S, mirrors exchange them.

    Args:
        most_heavy_atoms: Largest number of atoms other than hydrogen.

    Raises:
        InputError: No biotite, or no molecule that fits.
    """
    book = _dictionary()
    centres = book.count(np.isin(book.flags, ("R", "S")))
    fits = book.usable(NUMBERS) & (book.heavy <= most_heavy_atoms) & (centres == 1)
    ranked = [_stereocentre(book, int(one)) for one in np.flatnonzero(fits)]
    clear = [one for one in ranked if one is not None]
    if not clear:
        raise InputError(f"no molecule of up to {most_heavy_atoms} heavy atoms has one stereocentre.")
    x = torch.tensor(np.stack([corners for corners, _ in clear]), dtype=torch.float64)
    labels = torch.tensor([right for _, right in clear], dtype=torch.int64)
    return LabelledData(x, labels, "stereocentres", "Chemical Component Dictionary, R and S")


@checked
def ring_samples(fewest_heavy_atoms: int = 8, most_heavy_atoms: int = 12) -> LabelledData:
    """Molecules of H, C, N and O without a ring (class 0) and with one or more (class 1), without hydrogens.

    Of each number of heavy atoms there are as many with as without a ring, spread over all names, so that
    size tells nothing; hydrogens are left out, since their number does. A molecule has `bonds - atoms + 1`
    rings. Rotations and mirrors keep the label.

    Args:
        fewest_heavy_atoms: Smallest number of atoms other than hydrogen.
        most_heavy_atoms: Largest number of them.

    Returns:
        Clouds `[n, most_heavy_atoms, 6]`: positions in angstrom from their mean, and a column for each of C,
        N, O; rows of zeros where there is no atom.

    Raises:
        InputError: No biotite, or no such molecules with and without a ring.
    """
    book, (ranges, *_) = _dictionary(), _bonds()
    heavy, fits = book.heavy, book.usable([NUMBER_OF[symbol] for symbol in ("H", "C", "N", "O")])
    atoms = book.count(np.ones(len(book.atom_elements), dtype=np.bool_))
    bonds = np.array([np.diff(ranges.get(str(name), (0, 0)))[0] for name in book.names])
    fits &= (bonds > 0) & (heavy >= fewest_heavy_atoms) & (heavy <= most_heavy_atoms)
    chosen: list[list[NDArray[np.int64]]] = [[], []]
    for size in range(fewest_heavy_atoms, most_heavy_atoms + 1):
        both = [np.flatnonzero(fits & (heavy == size) & ((bonds >= atoms) == ring)) for ring in (False, True)]
        count = min(len(one) for one in both)
        for kind, one in zip(chosen, both, strict=True):
            by_name = one[np.argsort(book.names[one])]
            kind.append(by_name[np.linspace(0, len(one) - 1, count).round().astype(np.int64)])
    picked = [np.concatenate([*kind, np.empty(0, dtype=np.int64)]) for kind in chosen]
    if not len(picked[0]):
        raise InputError(
            f"expected numbers of heavy atoms of which there are molecules with and without a ring, got "
            f"{fewest_heavy_atoms} to {most_heavy_atoms}."
        )
    labels = torch.arange(2).repeat_interleave(len(picked[0]))
    x = book.take(np.concatenate(picked), hydrogens=False).clouds()
    return LabelledData(x, labels, "rings", "Chemical Component Dictionary, bonds")


@checked
def signed_volumes(corners: Float[Tensor, "n 4 3"]) -> Float[Tensor, "n"]:
    """Six times the volume of each tetrahedron, `det(a - d, b - d, c - d)`; a mirror turns its sign around.

    With neighbours of a stereocentre in the order of their priorities it is negative for R and positive for
    S: seen with d behind, a, b, c go around clockwise for R.

    >>> corners = torch.tensor([[[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]])
    >>> signed_volumes(corners).tolist(), signed_volumes(-corners).tolist()
    ([1.0], [-1.0])
    """
    return torch.linalg.det(corners[:, :3] - corners[:, 3:])


@final
@dataclass(frozen=True, eq=False)
class _Dictionary:
    """Columns of the dictionary, component after component: atoms of component c begin at `starts[c]`.

    `atom_elements` are atomic numbers, -1 for elements without parameters; `flags` are R, S or N.
    """

    names: NDArray[Any]
    starts: NDArray[np.int64]
    neutral: NDArray[np.bool_]
    positions: NDArray[np.float64]
    atom_elements: NDArray[np.int64]
    atom_names: NDArray[Any]
    flags: NDArray[Any]

    def usable(self, elements: Sequence[int]) -> NDArray[np.bool_]:
        """Which components are neutral, have all coordinates, and no other elements."""
        atoms = np.isin(self.atom_elements, elements) & np.isfinite(self.positions).all(1)
        return self.neutral & np.logical_and.reduceat(atoms, self.starts[:-1])

    def count(self, atoms: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of these atoms each component has."""
        return np.add.reduceat(atoms.astype(np.int64), self.starts[:-1])

    @property
    def heavy(self) -> NDArray[np.int64]:
        """Number of atoms other than hydrogen."""
        return self.count(self.atom_elements != 1)

    def atoms(self, component: int) -> slice:
        """Positions of a component's atoms."""
        return slice(int(self.starts[component]), int(self.starts[component + 1]))

    def take(self, components: NDArray[np.int64], hydrogens: bool = True) -> Molecules:
        """Some components, padded to the most atoms among them, each centred."""
        parts = [np.arange(*self.atoms(int(one)).indices(len(self.atom_elements))) for one in components]
        parts = [part if hydrogens else part[self.atom_elements[part] != 1] for part in parts]
        size = max(len(part) for part in parts)
        positions = torch.zeros(len(parts), size, 3, dtype=torch.float64)
        elements = torch.zeros(len(parts), size, dtype=torch.int64)
        for row, part in enumerate(parts):
            places = torch.from_numpy(self.positions[part])
            positions[row, : len(places)] = places - places.mean(0)
            elements[row, : len(places)] = torch.from_numpy(self.atom_elements[part])
        return Molecules(tuple(self.names[components].tolist()), positions, elements)


@cache
def _dictionary() -> _Dictionary:
    """biotite's copy of the Chemical Component Dictionary."""
    atoms, components = _table("chem_comp_atom"), _table("chem_comp")
    owners = atoms["comp_id"].as_array()
    first = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    released = components["pdbx_release_status"].as_array() == "REL"
    plain = released & (components["pdbx_formal_charge"].as_array() == 0)
    names = owners[first]
    positions = np.stack([_numbers(atoms[f"pdbx_model_Cartn_{axis}_ideal"]) for axis in "xyz"], axis=1)
    known, symbols = np.unique(atoms["type_symbol"].as_array(), return_inverse=True)
    numbers = np.array([NUMBER_OF.get(symbol.capitalize(), -1) for symbol in known])
    return _Dictionary(
        names=names,
        starts=np.append(first, len(owners)),
        neutral=np.isin(names, components["id"].as_array()[plain]),
        positions=positions,
        atom_elements=numbers[symbols],
        atom_names=atoms["atom_id"].as_array(),
        flags=atoms["pdbx_stereo_config"].as_array(),
    )


def _table(name: str) -> Any:
    try:
        from biotite.structure.info import get_ccd
    except ImportError as error:
        raise InputError(f"molecules need biotite: pip install 'symscope[molecules]' ({error})") from error
    return get_ccd()[name]


def _numbers(column: Any) -> NDArray[np.float64]:
    """A column of numbers, NaN where the dictionary has none."""
    absent = column.mask.array != 0
    return np.where(absent, np.nan, column.as_array().astype(np.float64))


@cache
def _bonds() -> tuple[dict[str, tuple[int, int]], NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Range of each component's bonds, the names of the two atoms of each bond, and its order."""
    table = _table("chem_comp_bond")
    owners = table["comp_id"].as_array()
    first = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    ends = np.append(first[1:], len(owners))
    ranges = {str(owners[a]): (int(a), int(b)) for a, b in zip(first, ends, strict=True)}
    words, which = np.unique(table["value_order"].as_array(), return_inverse=True)
    orders = np.array([{"DOUB": 2, "TRIP": 3, "QUAD": 4}.get(str(word), 1) for word in words])
    return ranges, table["atom_id_1"].as_array(), table["atom_id_2"].as_array(), orders[which]


def _stereocentre(book: _Dictionary, component: int) -> tuple[NDArray[np.float64], int] | None:
    """Neighbours of the one stereocentre by priority, seen from it, and 1 for R; None where two are alike."""
    part = book.atoms(component)
    place = {str(name): i for i, name in enumerate(book.atom_names[part])}
    ranges, ones, others, orders = _bonds()
    bonded: list[list[tuple[int, int]]] = [[] for _ in place]
    for row in range(*ranges[str(book.names[component])]):
        a, b, order = place[str(ones[row])], place[str(others[row])], int(orders[row])
        bonded[a].append((b, order))
        bonded[b].append((a, order))
    flags, elements = book.flags[part], book.atom_elements[part].tolist()
    centre = int(np.flatnonzero(np.isin(flags, ("R", "S")))[0])
    spheres = {atom: _spheres(atom, centre, bonded, elements) for atom, _ in bonded[centre]}
    ranked = sorted(spheres, key=lambda atom: spheres[atom], reverse=True)
    if len(ranked) != 4 or any(spheres[one] == spheres[two] for one, two in itertools.pairwise(ranked)):
        return None
    positions = book.positions[part]
    return positions[ranked] - positions[centre], int(flags[centre] == "R")


def _spheres(
    atom: int, centre: int, bonded: Sequence[Sequence[tuple[int, int]]], elements: Sequence[int]
) -> list[list[int]]:
    """Atomic numbers one, two, .. bonds from the centre, largest first; by them neighbours are ranked.

    The first rule of Cahn, Ingold and Prelog: an atom of a double bond counts twice.
    """
    spheres, edge = [[elements[atom]]], [(atom, centre)]
    for _ in range(SPHERES - 1):
        reached = [(here, before, *bond) for here, before in edge for bond in bonded[here]]
        # the atom that was come from is no branch, but is copied where the bond to it is double
        copies = [(elements[other], order - (other == before)) for _, before, other, order in reached]
        spheres.append(sorted((number for number, count in copies for _ in range(count)), reverse=True))
        edge = [(other, here) for here, before, other, _ in reached if other != before]
    return spheres
