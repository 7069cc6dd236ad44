"""Exact symmetries: null spaces of the invariance constraints, and the Lie algebras they form."""

from __future__ import annotations

from symscope.discovery.exact._lie_algebra import Algebra, lie_algebra
from symscope.discovery.exact._linear_symmetries import (
    LinearSymmetries,
    fibre_dimension,
    linear_symmetries,
    orbit_dimension,
    translations,
)
from symscope.discovery.exact._monomials import Dictionary, DictionaryField, monomials
from symscope.discovery.exact._null_space import NullSpace, null_space
from symscope.discovery.exact._polynomial_symmetries import PolynomialSymmetries, polynomial_symmetries

__all__ = [
    # linear fields
    "linear_symmetries",
    "LinearSymmetries",
    "translations",
    # polynomial and data-dependent fields
    "polynomial_symmetries",
    "PolynomialSymmetries",
    "monomials",
    "Dictionary",
    "DictionaryField",
    # what they are
    "lie_algebra",
    "Algebra",
    "orbit_dimension",
    "fibre_dimension",
    # how they are found
    "null_space",
    "NullSpace",
]
