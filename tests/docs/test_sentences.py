"""The list of the papers' sentences against the experiments: what it names exists, and quotes those words."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import symscope_papers
from symscope.runs import experiments

ROOT = Path(symscope_papers.__path__[0])
PAGE = (ROOT.parent / "docs/results/sentences.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| where"))
]
ID = re.compile(r"`([a-z]+/[a-z0-9-]+)`")
LINK = re.compile(rf"\[{ID.pattern}\]\(([^)]*)\)")
TESTED = [
    row for row in ROWS if not ID.sub("", LINK.sub("", row[2])).strip(", ")
]  # names experiments and nothing else


@cache
def strings_and_imports(module: str) -> tuple[list[str], list[str]]:
    """Text in a module of the papers, strings that stand beside each other as one; and what it imports."""
    path = ROOT.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    sources = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return texts, [name for name in sources if name.startswith("symscope_papers.")]


def words_of(experiment: str) -> str:
    """All text of the module that makes an experiment's claims, and of those it takes it from."""
    texts: list[str] = []
    waiting, seen = [experiments()[experiment].claims.__module__], set()
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            new, sources = strings_and_imports(module)
            texts, waiting = texts + new, waiting + sources
    return "\n".join(texts)


def test_rows_are_whole_and_no_sentence_is_listed_twice():
    assert len(ROWS) > 150
    assert all(len(row) == 3 and all(row) for row in ROWS)
    keys = [(where, words) for where, words, _ in ROWS]
    assert len(set(keys)) == len(keys)


def test_every_experiment_it_names_exists():
    named = set(ID.findall(PAGE))
    assert named <= set(experiments())


def test_experiments_are_linked_to_their_kept_pages():
    for _, _, third in ROWS:
        linked = dict(LINK.findall(third))
        for name in ID.findall(third):
            page = f"{name.replace('/', '-')}.md"
            kept = (ROOT.parent / "docs/results" / page).exists()
            assert linked.get(name) == (page if kept else None), name


@pytest.mark.parametrize(("where", "words", "ids"), TESTED, ids=[f"{r[0]}: {r[1][:30]}" for r in TESTED])
def test_the_code_of_the_experiments_quotes_these_words(where, words, ids):
    shown = words.split(" …")[0]
    for name in ID.findall(ids):
        assert shown in words_of(name), name


def test_every_experiment_on_a_paper_is_named_or_goes_beyond_it():
    beyond = {"spectral/gaps", "spectral/groups", "spectral/latent", "spectral/whole-mnist"}
    beyond |= {"forecast/bank", "forecast/budgets"}
    assert set(experiments()) - beyond <= set(ID.findall(PAGE))
