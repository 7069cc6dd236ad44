"""Which elements to want: laws for any outcome of the tests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope.auditing._input_invariance import ElementTest
from symscope.auditing._label_survival import LabelTest
from symscope.auditing._symmetry_advice import advice_sentence, elements_to_want, listed
from symscope.groups import cyclic, dihedral

GROUPS = [cyclic(6), cyclic(8), dihedral(4), dihedral(3)]


def outcome(g, accuracy=0.5, verdict="same", displacement=0.1):
    return ElementTest(g, str(g), None, accuracy, 0.4, 0.6, 0.5, 100, displacement, verdict)


def mix(g):
    return LabelTest(0, 1, g, 0.6, 0.5, 0.7, 1.0, 0.9, 0.001, 100)


@settings(max_examples=25)
@given(st.data())
def test_wanted_elements_have_inverses_and_mix_no_labels(data):
    group = data.draw(st.sampled_from(GROUPS))
    others = [g for g in group.elements if g != group.identity]
    tests = [
        outcome(
            g,
            data.draw(st.floats(0.4, 1.0)),
            data.draw(st.sampled_from(["same", "different", "unknown"])),
            data.draw(st.floats(0, 1.5)),
        )
        for g in others
    ]
    mixing = data.draw(st.sets(st.sampled_from(others)))
    wanted = elements_to_want(group, tests, [mix(g) for g in mixing], (), ())
    bad = mixing | {group.inverse(g) for g in mixing}
    assert group.identity in wanted
    assert set(wanted) == {group.inverse(g) for g in wanted}
    assert not any(group.multiply(group.inverse(h), g) in bad for g in wanted for h in wanted)
    if not mixing and all(one.verdict == "same" for one in tests):
        assert wanted == tuple(group.elements)
    for one in tests:
        pair = [two for two in tests if two.element in (one.element, group.inverse(one.element))]
        if all(two.verdict == "different" and two.accuracy > 0.75 for two in pair):
            assert one.element not in wanted


@pytest.mark.parametrize(
    ("accuracy", "verdict", "displacement", "wanted"),
    [
        (0.58, "same", 1.2, True),
        (0.70, "different", 0.3, True),  # a small rotation of data within a range
        (0.70, "different", 1.0, False),  # natural images upside down, to a weak classifier
        (0.55, "unknown", 1.0, True),
        (0.66, "unknown", 0.3, True),
        (0.66, "unknown", 1.0, False),
        (0.90, "different", 0.1, False),
    ],
)
def test_one_element(accuracy, verdict, displacement, wanted):
    tests = [outcome(1, accuracy, verdict, displacement)]
    assert elements_to_want(cyclic(2), tests, (), (), ()) == ((0, 1) if wanted else (0,))
    assert elements_to_want(cyclic(2), tests, [mix(1)], (), ()) == (0,)
    assert elements_to_want(cyclic(2), tests, [mix(1)], (), (1,)) == (0, 1)  # met, whatever it mixes up


def test_advice_in_words():
    c8 = cyclic(8)
    names = [f"{45 * g}°" for g in range(8)]
    assert advice_sentence(c8, range(8), names, ()).startswith("Want it")
    assert advice_sentence(c8, [0], names, ()).startswith("Do not want it")
    assert "180° only; with the identity a subgroup" in advice_sentence(c8, [0, 4], names, ())
    assert "45°, 315° only; no subgroup" in advice_sentence(c8, [0, 1, 7], names, ())
    assert advice_sentence(c8, [0, 2], names, (2,)) == "Want what will be met: augment by 90°."
    assert listed(names[1:]) == "7 elements from 45° to 315°"
