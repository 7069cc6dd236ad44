"""Arguments of the program: good commands with values changed, options added, doubled, dropped and cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.fuzz import stock
from tests.fuzz.hostile import number_text, text
from tests.fuzz.outcome import Outcome, of_command

FORECAST = [
    *("forecast", "--model", "nets.py:build", "--data", "tiny.npz", "--group", "C4", "--method", "kernel")
]
FORECAST += ["--per-class", "2", "--resamples", "1", "--json"]
PILOT = [
    *("forecast", "--model", "nets.py:build", "--data", "tiny.npz", "--group", "C4", "--method", "pilot")
]
PILOT += ["--steps", "20", "--budget", "20s", "--json"]
DISCOVER = ["discover", "--model", "nets.py:small", "--inputs", "2", "--method", "none"]
SHOW = ["data", "show", "--data", "tiny.npz", "--group", "C4", "--samples", "1"]
FETCH = ["data", "fetch", "mnist", "--to", "here", "--mirror", "http://127.0.0.1:9/"]

NUMBERS = {
    "forecast": "--target --budget --steps --batch --samples --per-class --resamples --limit --seed "
    "--fail-below",
    "discover": "--near --learn --steps --seed",
    "data": "--samples --seed",
    "reproduce": "--seed --workers",
}
TEXTS = {
    "forecast": "--model --data --task --group --action --seen --missing --new --budget --method --optimiser "
    "--kernel --weights --device --out",
    "discover": "--model --loss --inputs --data --method --out",
    "data": "--group --action --data --out --to --mirror",
    "reproduce": "--preset --set --device --out --only --module",
    "report": "--out",
    "compare": "--out",
    "list": "--module",
}
FLAGS = """
--train --json --dependent --all --fresh --resume --help --version -h -x --no-such-option --
""".split()  # noqa: SIM905, easier to read than a list
VALUES = """
mlp conv-gap nets.py:build nets.py:small nets.py:data nets.py:turn nets.py:squared nets.py:nothing nets:build
tiny.npz words.npz numbers.npz pairs.npz images idx weights.pt runs page.html picture.svg cuda cuda:7 meta
D4 C2xC3 S4 SO(2) rotation rotation:orthogonal shift dihedral nodes flip 0:0,1 cat:0 0:99 adam:1e-3 sgd:-1
finite infinite regression classification mse cross-entropy cells=1 cells=-1 fail=0,1 index=0 paper quick
nets.py once upright ±90° 0..90° others:all 0:0;1:90 30s 1h pilot kernel
""".split()  # noqa: SIM905


def bases(stock_folder: Path) -> list[list[str]]:
    """Good commands that take a second or so."""
    runs = [str(path) for path in sorted((stock_folder / "runs").glob("toy-*"))]
    return [
        *(FORECAST, FORECAST, PILOT, DISCOVER, SHOW, FETCH, [*stock.RUN, "--out", "out"], []),
        *(["report", *runs[:1]], ["compare", *runs], ["list"], ["list", "groups"]),
    ]


def cli(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """One command line."""
    stock.take(
        stock_folder, folder, "nets.py", "tiny.npz", "words.npz", "numbers.npz", "pairs.npz", "weights.pt"
    )
    if random.random() < 0.02:  # the demo itself takes minutes: it must stop before
        arguments = ["demo", "--out", f"tiny.npz/{text(random)}"]
        return f"symscope {arguments}", lambda: of_command(arguments)
    arguments = list(random.choice(bases(stock_folder)))
    for _ in range(random.choice((1, 1, 2, 3))):
        change(random, arguments)
    if arguments[:1] == ["demo"]:
        arguments = arguments[1:]
    return f"symscope {arguments}", lambda: of_command(arguments)


def change(random: Random, arguments: list[str]) -> None:
    """One change of the command line."""
    command = arguments[0] if arguments else ""
    known = f"{NUMBERS.get(command, '')} {TEXTS.get(command, '')}".split()
    kind = random.randrange(10)
    places = [k for k, word in enumerate(arguments[:-1]) if word in known]
    if kind < 4 and known:
        option = random.choice(known)
        arguments += [option, value_of(random, option, NUMBERS.get(command, "").split())]
    elif kind < 7 and places:
        place = random.choice(places)
        arguments[place + 1] = value_of(random, arguments[place], NUMBERS.get(command, "").split())
    elif kind == 7:
        arguments.insert(random.randrange(len(arguments) + 1), random.choice((*FLAGS, text(random))))
    elif kind == 8 and arguments:
        del arguments[random.randrange(len(arguments))]
    elif arguments:
        place = random.randrange(len(arguments))
        arguments[place] = random.choice(
            (text(random), arguments[place] + text(random), arguments[place][:-1])
        )


def value_of(random: Random, option: str, numbers: Sequence[str]) -> str:
    """A value for an option: often one that suits another option, often one that suits none."""
    if option in numbers and random.random() < 0.7:
        return number_text(random)
    return text(random) if random.random() < 0.5 else random.choice(VALUES)
