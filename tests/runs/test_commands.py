"""The command in a report runs the very same again."""

from __future__ import annotations

import shlex

from symscope.runs import RunRequest
from symscope.runs.commands import reproduce_command
from tests.runs.program import toy_request


def test_the_command_asks_for_the_same_run():
    made = toy_request("cells=3", "fail=1,2", "word=two words", "threshold=0.1", "fair=false", seed=4)
    words = shlex.split(reproduce_command(made.description()))
    options = {
        word: [words[i + 1] for i in range(len(words) - 1) if words[i] == word]
        for word in words
        if word[:2] == "--"
    }
    again = RunRequest.of(
        words[2],
        preset=options["--preset"][0],
        changes=options["--set"],
        seed=int(options["--seed"][0]),
        device=options["--device"][0],
        modules=options["--module"],
    )
    assert again == made
