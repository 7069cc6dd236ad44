"""Exact symmetries: null spaces of the invariance constraints, and the Lie algebras they form."""

from __future__ import annotations

from symscope.discovery.exact._lie_algebra import LieAlgebra, lie_algebra
from symscope.discovery.exact._linear_symmetries import (
    LinearSymmetries,
    fibre_dimension,
    linear_symmetries,
    orbit_dimension,
    translation_symmetries,
)
from symscope.discovery.exact._monomials import MonomialDictionary, DictionaryField, monomials
from symscope.discovery.exact._null_space import NullSpace, null_space
from symscope.discovery.exact._polynomial_symmetries import PolynomialSymmetries, polynomial_symmetries

__all__ = [
    # linear fields
    "linear_symmetries",
    "LinearSymmetries",
    "translation_symmetries",
    # polynomial and data-dependent fields
    "polynomial_symmetries",
    "PolynomialSymmetries",
    "monomials",
    "MonomialDictionary",
    "DictionaryField",
    # what they are
    "lie_algebra",
    "LieAlgebra",
    "orbit_dimension",
    "fibre_dimension",
    # how they are found
    "null_space",
    "NullSpace",
]
