"""What a symmetry is: finite and compact groups, representations, irreps, equivariant maps.

A group comes from its name, `parse("C8")`, from a constructor, or from generators or a table. A
`Representation` is a linear action of a group on vectors. Beyond this index, for specialists:

- `symscope.groups.named_groups`: every group with a name, alternating and quaternion among them
- `symscope.groups.polyhedral`: rotations of the regular solids, with and without inversion
- `symscope.groups.group_products`: direct and semidirect products
- `symscope.groups.subgroups`: conjugacy classes, subgroups, stabilisers, cosets
- `symscope.groups.compact`: SO(n), O(n), tori and their products with finite groups
- `symscope.groups.finite_parts`: finite groups that stand for continuous ones, and what they are exact for
- `symscope.groups.spin`: irreps of SO(2), SO(3) and O(3)
- `symscope.groups.constructions`: defining and regular representations, and those from functions and blocks
- `symscope.groups.irreducible`: character tables and tests of irreducibility
- `symscope.groups.isotypic`: the parts of a representation that transform by one irrep
- `symscope.groups.fourier`: the Fourier transform on a group and on cosets
- `symscope.groups.unitarity`: whether a representation is unitary
"""

# groups
from symscope.groups._finite_group import FiniteGroup, from_table
from symscope.groups._generated import from_generators
from symscope.groups.named_groups import GRAMMAR, Group, parse
from symscope.groups._permutation import PermutationGroup
from symscope.groups.compact import CompactGroup
from symscope.groups.finite_parts import finite_part
from symscope.groups.group_products import direct_product
from symscope.groups.named_groups import cyclic, dihedral, symmetric

# representations
from symscope.groups._representation import Representation, direct_sum, hom
from symscope.groups.constructions import from_matrices, permutation, trivial

# irreps
from symscope.groups.irreducible import character, conjugate_indices, irreps, multiplicities
from symscope.groups.isotypic import isotypic_projector

# equivariant maps and averages
from symscope.groups._equivariant_maps import EquivariantMaps, equivariant_maps, invariant_vectors
from symscope.groups._haar_quadrature import Quadrature, haar_quadrature
from symscope.groups._homspace import pair_orbits

# checks
from symscope.groups._finite_group import check_finite_group
from symscope.groups.subgroups import check_subgroup
from symscope.groups.unitarity import unitarity_error, unitary_form

__all__ = [
    # groups
    "GRAMMAR",
    "CompactGroup",
    "FiniteGroup",
    "Group",
    "PermutationGroup",
    "cyclic",
    "dihedral",
    "direct_product",
    "finite_part",
    "from_generators",
    "from_table",
    "parse",
    "symmetric",
    # representations
    "Representation",
    "direct_sum",
    "from_matrices",
    "hom",
    "permutation",
    "trivial",
    # irreps
    "character",
    "conjugate_indices",
    "irreps",
    "isotypic_projector",
    "multiplicities",
    # equivariant maps and averages
    "EquivariantMaps",
    "Quadrature",
    "equivariant_maps",
    "haar_quadrature",
    "invariant_vectors",
    "pair_orbits",
    # checks
    "check_finite_group",
    "check_subgroup",
    "unitarity_error",
    "unitary_form",
]
