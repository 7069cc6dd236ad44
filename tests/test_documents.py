"""What the README and the documentation say: code runs, prints what is shown, and what is named exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import torch
import typer.main

from symscope.cli import app

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/index.md", "docs/faq.md", "docs/design.md"]
GUIDES = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs" / "guides").glob("*.md"))]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_python_blocks_run(name, capsys):
    blocks = re.findall(r"```python\n(.*?)```", read(name), re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, name, "exec"), scope)
    result = scope["result"].prediction if name == "README.md" else scope["predicted"]
    assert result.isfinite().all()
    assert result.shape == ((20, 10) if name == "README.md" else (2, 10))


def test_answers_to_questions_run_and_print_what_is_shown(capsys):
    parts = re.findall(r"^```(python|text)\n(.*?)^```", read("docs/faq.md"), re.DOTALL | re.MULTILINE)
    assert [kind for kind, _ in parts].count("text") >= 3
    scope: dict[str, object] = {}
    with torch.random.fork_rng():
        for kind, content in parts:
            if kind == "text":
                assert capsys.readouterr().out == content
            else:
                exec(compile(content, "faq.md", "exec"), scope)
    assert capsys.readouterr().out == ""  # every line that is printed is shown
    x = torch.randn(3, 28, 28, generator=torch.Generator().manual_seed(0))
    for name in ("one", "eight", "narrow", "wide"):
        assert scope[name]()(x).shape == (3, 10)


@pytest.mark.parametrize("name", [*PAGES, *GUIDES])
def test_links_lead_somewhere(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^)#\s]+)", read(name)):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name} points to {target}"


@pytest.mark.parametrize("name", [*PAGES, *GUIDES])
def test_commands_are_ones_the_program_has(name):
    """Every `symscope ...` in a block or in a sentence: its command and its options."""
    text = read(name)
    fenced = "".join(re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    lines = re.findall(r"^(?:\$ )?(symscope [^#\n]*)", fenced, re.MULTILINE)
    lines += re.findall(r"(?<!`)`(symscope [^`]*)`(?!`)", text)
    assert lines or name not in ("README.md", "docs/faq.md")
    for line in lines:
        words = line.split()
        command = typer.main.get_command(app)
        while words[1:] and words[1] in getattr(command, "commands", {}):
            command = command.commands[words.pop(1)]
        assert not hasattr(command, "commands"), f"{name}: no command {line!r}"
        known = {word for option in command.params for word in (*option.opts, *option.secondary_opts)}
        assert {word for word in words if word.startswith("-")} <= known | {"--help"}, f"{name}: {line}"


def test_the_table_of_packages_is_the_order_that_is_enforced():
    [contract] = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = [
        set(re.findall(r"symscope\.(\w+)", layer))
        for layer in reversed(contract["layers"])
        if "papers" not in layer
    ]
    table = read("docs/design.md").partition("## Packages")[2].partition("\n## ")[0]
    rows = [set(re.findall(r"`(\w+)`", row.split("|")[1])) for row in table.splitlines() if "| `" in row]
    assert rows == layers


def test_files_the_design_names_are_there():
    named = re.findall(r"`((?:\w+/)+[\w.]*)`", read("docs/design.md"))
    assert len(named) > 25
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "symscope" / name).exists(), name


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r": ([\w/-]+\.md)$", read("mkdocs.yml"), re.MULTILINE))
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    linked = {
        f"results/{name}.md"
        for name in ("index", "against-the-papers", "sentences", "forecast", "forecast-protocol")
    }
    assert {page for page in pages if not page.startswith("results/")} | linked == listed
