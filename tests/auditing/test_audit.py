"""An audit as a value: numbers, words, files, and progress."""

from __future__ import annotations

import json
import math

import pytest

import symscope
from symscope.auditing import Audit
from symscope.errors import InputError
from tests.auditing.planted import aligned, fresh, mlp, trained, turn_net
from tests.auditing.test_subject import images


@pytest.fixture(scope="module")
def result() -> Audit:
    told = []
    data = aligned(90)
    answer = symscope.audit(
        trained(mlp, data, 40), data, "C4 rotation", repairs=False, progress=lambda *now: told.append(now)
    )
    steps = [done for _, done, _ in told]
    assert steps == sorted(steps)
    assert {words.partition(":")[0] for words, _, _ in told} >= {"error", "action", "data", "layers"}
    return answer


def test_the_answer_in_words(result):
    assert result.verdict.startswith("Sequential is not invariant under C4 rotation (1")
    assert "First cause: data" in result.verdict
    assert result.low <= result.error <= result.high
    assert repr(result) == f"Audit(Sequential, C4 rotation: error {result.error:.1%}, first cause: data)"
    assert "<td>data</td>" in result._repr_html_()


def test_the_answer_in_numbers(result, tmp_path):
    frame = result.to_frame()
    assert frame["kind"].iloc[0] == "data"
    assert frame["share"].sum() == pytest.approx(1.0)
    data = result.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert math.isclose(data["error"], result.error)
    result.save(tmp_path / "audit.json")
    assert json.loads((tmp_path / "audit.json").read_text()) == data
    with pytest.raises(InputError, match=r"\.json"):
        result.save(tmp_path / "audit.txt")


def test_layers_are_told_with_their_reason(result):
    first = max(result.layers, key=lambda one: one.added)
    assert (first.layer, first.kind) == ("1", "Linear")
    assert "flatten" in first.reason
    assert first.own > 0.1


def test_a_clean_network_has_no_causes():
    answer = symscope.audit(fresh(turn_net), aligned(30), "C4 rotation", repairs=False)
    assert answer.clean
    assert answer.causes == ()
    assert "is invariant under C4 rotation" in answer.verdict


def test_few_samples_are_said(result):
    few = symscope.audit(fresh(mlp), images(8, side=8), "C4 rotation", repairs=False)
    assert any("not asked" in note for note in few.notes)
    assert few.data_symmetry is None


def test_little_time_takes_fewer_samples():
    quick = symscope.audit(fresh(mlp), aligned(200), "C4 rotation", repairs=False, seconds=1e-4)
    assert quick.samples < 200
    assert any("fewer samples" in note for note in quick.notes)


def test_what_stands_for_a_continuous_group_is_said():
    answer = symscope.audit(fresh(turn_net), aligned(40), "SO(2)", repairs=False, seconds=1e-4)
    assert "SO(2) through C16: exact for functions of the angle up to frequency 7." in answer.notes
