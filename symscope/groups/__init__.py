"""What a symmetry is: finite and compact groups, representations, irreps and Fourier, equivariant maps."""

from symscope.groups.compact import CompactGroup, as_compact, compact_product, o, so, torus
from symscope.groups.finite import FiniteGroup, from_table
from symscope.groups.generated import from_generators
from symscope.groups.grammar import GRAMMAR, Group, parse
from symscope.groups.named import alternating, cyclic, dihedral, octahedral, quaternion, symmetric
from symscope.groups.permutation import PermutationGroup
from symscope.groups.products import direct_product, semidirect_product
from symscope.groups.quadrature import Quadrature, haar_quadrature
from symscope.groups.subgroups import (
    as_group,
    check_subgroup,
    conjugacy_classes,
    cosets,
    is_normal,
    stabiliser,
)

__all__ = [
    "GRAMMAR",
    "CompactGroup",
    "FiniteGroup",
    "Group",
    "PermutationGroup",
    "Quadrature",
    "alternating",
    "as_compact",
    "as_group",
    "check_subgroup",
    "compact_product",
    "conjugacy_classes",
    "cosets",
    "cyclic",
    "dihedral",
    "direct_product",
    "from_generators",
    "from_table",
    "haar_quadrature",
    "is_normal",
    "o",
    "octahedral",
    "parse",
    "quaternion",
    "semidirect_product",
    "so",
    "stabiliser",
    "symmetric",
    "torus",
]
