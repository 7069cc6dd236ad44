"""Run folders with some of their files damaged, deleted, exchanged, or replaced by something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz import stock
from tests.fuzz.area_files import no_file
from tests.fuzz.hostile import damaged, damaged_json
from tests.fuzz.outcome import Kind, Outcome, of_command

SCRIPT = "fuzz()"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{SCRIPT}"><script>{SCRIPT}</script></svg>'


def runs(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """A damaged run folder, and a command that reads it."""
    stock.take(stock_folder, folder, "runs")
    first, second = (Path("runs", path.name) for path in sorted((folder / "runs").glob("toy-*")))
    changes = [damage(random, first) for _ in range(random.choice((1, 1, 2, 3)))]
    seed = random.choice(("0", "1"))
    commands = (
        ["report", str(first)],
        ["report", "runs"],
        ["compare", str(first), str(second)],
        ["compare", str(second), str(first)],
        ["reproduce", str(first), "--workers", "0"],
        ["reproduce", str(first), "--workers", "0", *stock.RUN[2:4]],
        [*stock.RUN, "--seed", seed, "--out", "runs"],
    )
    command = random.choice(commands)

    def call() -> Outcome:
        outcome = of_command(command)
        pages = [page for page in folder.rglob("*.html") if page.is_file()]
        if any(f"<script>{SCRIPT}" in page.read_text(errors="replace") for page in pages):
            return Outcome(Kind.TRACEBACK, "a script of the folder reached the page", str(changes))
        return outcome

    return f"{'; '.join(changes)}: symscope {' '.join(command)}", call


def damage(random: Random, run: Path) -> str:
    """Change one file or folder; says what was done."""
    places = sorted(path for path in run.rglob("*"))
    if not places:
        return "nothing left"
    path = random.choice([path for path in places if path.suffix == ".json"] + places)
    name = str(path.relative_to(run))
    kind = random.randrange(10)
    if kind == 0:
        stock.remove(path)
        return f"{name} deleted"
    if kind == 1:
        no_file(random, path)
        return f"{name} is no file"
    if not path.is_file():
        return f"{name} left"
    if kind == 2:
        path.write_bytes(random.choice([one for one in places if one.is_file()]).read_bytes())
        return f"{name} is another file"
    if kind == 3 and path.suffix in (".svg", ".json"):
        path.write_text(SVG if path.suffix == ".svg" else f'["<script>{SCRIPT}</script>"]')
        return f"{name} with a script"
    if path.suffix == ".json" and kind < 8:
        try:
            path.write_bytes(damaged_json(random, path.read_bytes()))
        except ValueError:  # damaged before
            path.write_bytes(damaged(random, path.read_bytes()))
        return f"{name} with other JSON"
    path.write_bytes(damaged(random, path.read_bytes()))
    return f"{name} with other bytes"
