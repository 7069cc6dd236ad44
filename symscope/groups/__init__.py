"""What a symmetry is: finite and compact groups, representations, irreps and Fourier, equivariant maps."""

from symscope.groups._compact import CompactGroup, as_compact, compact_product, o, so, torus
from symscope.groups._constructions import (
    block,
    defining,
    from_function,
    from_matrices,
    permutation,
    regular,
    trivial,
)
from symscope.groups._equivariant_maps import EquivariantMaps, equivariant_maps, invariant_vectors
from symscope.groups._finite_group import FiniteGroup, from_table
from symscope.groups._fourier import coset_fourier, fourier, inverse_coset_fourier, inverse_fourier
from symscope.groups._generated import from_generators
from symscope.groups._grammar import GRAMMAR, Group, parse
from symscope.groups._group_checks import check_finite_group
from symscope.groups._group_products import direct_product, semidirect_product
from symscope.groups._haar_quadrature import Quadrature, haar_quadrature
from symscope.groups._homspace import pair_orbits
from symscope.groups._irreps import (
    CharacterTable,
    character,
    character_table,
    conjugate_indices,
    irreps,
    multiplicities,
    schur_error,
    trivial_index,
)
from symscope.groups._isotypic import isotypic_part, isotypic_projector
from symscope.groups._named_groups import alternating, cyclic, dihedral, octahedral, quaternion, symmetric
from symscope.groups._permutation import PermutationGroup
from symscope.groups._representation import Representation, direct_sum, hom, tensor_product
from symscope.groups._spin import frequency, spin
from symscope.groups._subgroups import (
    as_group,
    check_subgroup,
    conjugacy_classes,
    cosets,
    is_normal,
    stabiliser,
)
from symscope.groups._unitarity import unitarised, unitarity_error

__all__ = [
    "GRAMMAR",
    "CharacterTable",
    "CompactGroup",
    "EquivariantMaps",
    "FiniteGroup",
    "Group",
    "PermutationGroup",
    "Quadrature",
    "Representation",
    "alternating",
    "as_compact",
    "as_group",
    "block",
    "character",
    "character_table",
    "check_finite_group",
    "check_subgroup",
    "compact_product",
    "conjugacy_classes",
    "conjugate_indices",
    "coset_fourier",
    "cosets",
    "cyclic",
    "defining",
    "dihedral",
    "direct_product",
    "direct_sum",
    "equivariant_maps",
    "fourier",
    "frequency",
    "from_function",
    "from_generators",
    "from_matrices",
    "from_table",
    "haar_quadrature",
    "hom",
    "invariant_vectors",
    "inverse_coset_fourier",
    "inverse_fourier",
    "irreps",
    "is_normal",
    "isotypic_part",
    "isotypic_projector",
    "multiplicities",
    "o",
    "octahedral",
    "pair_orbits",
    "parse",
    "permutation",
    "quaternion",
    "regular",
    "schur_error",
    "semidirect_product",
    "so",
    "spin",
    "stabiliser",
    "symmetric",
    "tensor_product",
    "torus",
    "trivial",
    "trivial_index",
    "unitarised",
    "unitarity_error",
]
