"""Dictionaries of monomials."""

from __future__ import annotations

from math import comb

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery.exact import MonomialDictionary, monomials


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 2), st.integers(0, 1), st.integers(0, 2))
def test_counts_are_binomial_and_values_are_products(n, degree, inputs, targets, data_degree):
    dictionary = monomials(n, degree, inputs, targets, data_degree)
    data = inputs + targets
    assert len(dictionary) == comb(n + degree, n) * (comb(data + data_degree, data) if data else 1)
    assert len(set(dictionary.terms)) == len(dictionary)
    theta = torch.arange(2.0, 2 + n).double()
    x, y = torch.full((1, inputs), 7.0).double(), torch.full((1, targets), -11.0).double()
    variables = torch.cat([theta, x[0], y[0]])
    expected = [torch.prod(variables[list(term)]).item() if term else 1.0 for term in dictionary.terms]
    assert dictionary.values(theta, x, y).tolist() == expected


def test_names_say_weights_and_data():
    dictionary = monomials(2, 1, inputs=1, targets=1, data_degree=1, lowest=1)
    names = dictionary.names(ParameterLayout(("w",), ((2,),)))
    assert names == ["w[0]", "w[0] x[0]", "w[0] y[0]", "w[1]", "w[1] x[0]", "w[1] y[0]"]
    assert dictionary.data_dependent == (False, True, True, False, True, True)


def test_bad_dictionaries_are_refused():
    with pytest.raises(InputError, match="lowest <= degree"):
        monomials(2, 1, lowest=2)
    with pytest.raises(InputError, match="at least one monomial"):
        MonomialDictionary(1, 0, 0, ())
    with pytest.raises(InputError, match="variables from 0 to 1"):
        MonomialDictionary(2, 0, 0, ((2,),))
    one = MonomialDictionary(1, 1, 0, ((1,),))
    with pytest.raises(InputError, match="expected a batch of 1, got 2"):
        one.values(torch.zeros(1), torch.zeros(2, 1), torch.zeros(2, 0))
    with pytest.raises(InputError, match="inputs: expected 1 numbers a sample, got 3"):
        one.values(torch.zeros(1), torch.zeros(1, 3), torch.zeros(1, 0))
