"""`symscope list`."""

from __future__ import annotations

import pytest

from symscope.data import ACTIONS
from symscope.runs import experiments
from tests.cli.test_app import called
from tests.runs.program import TOY


def test_everything_with_a_name_is_listed(capsys):
    assert called("list", "--module", TOY) == 0
    words = " ".join(capsys.readouterr().out.split())
    for name in [*experiments([TOY]), *ACTIONS, "C<n>", "sample", "FILE.npz", "quick: no time"]:
        assert name in words, name


@pytest.mark.parametrize(
    ("what", "there", "absent"), [("groups", "quaternion", "rotation "), ("data", "mnist", "C<n>")]
)
def test_one_part_alone(what, there, absent, capsys):
    assert called("list", what) == 0
    words = capsys.readouterr().out
    assert there in words
    assert absent not in words
