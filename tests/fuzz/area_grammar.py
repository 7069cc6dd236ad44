"""Names of groups, of actions, and of what training data lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from symscope.data import parse_action
from symscope.groups import parse
from tests.fuzz import stock
from tests.fuzz.area_cli import FORECAST
from tests.fuzz.hostile import WORDS, number_text, text
from tests.fuzz.outcome import Outcome, of_call, of_command

LETTERS = ("C", "D", "S", "A", "T", "Z", "Q", "SO", "O", "SU", "U", "Sp", "flip", "cyclic", "")
SIZES = (0, 1, 2, 3, 4, 5, 6, 8, 12, 20, 64, 100, 1000, 7515, 65537, 999999, 10**9, 10**30, -1)
ACTIONS = (
    "rotation",
    "dihedral",
    "shift",
    "nodes",
    "flip",
    "rotation:orthogonal",
    "rotation:nearest",
    "points",
    "",
)


def factor(random: Random) -> str:
    """One group's name, or nearly one."""
    letter, size = random.choice(LETTERS), str(random.choice(SIZES))
    if random.random() < 0.05:
        size = random.choice(("9" * 5000, number_text(random), text(random)))
    return random.choice((f"{letter}{size}", f"{letter}({size})", f"{letter}_{size}", f" {letter}{size} "))


def group_name(random: Random) -> str:
    """A product of groups, at times of hundreds."""
    kind = random.random()
    if kind < 0.1:
        return text(random)
    if kind < 0.2:
        return "x".join([factor(random)] * random.choice((15, 40, 300, 2000)))
    joint = random.choice(("x", "x", "x", " x ", "*", "×", "xx", "^"))
    name = joint.join(factor(random) for _ in range(random.choice((1, 1, 2, 2, 3, 5, 12))))
    return f"({name}){random.choice(('', 'xC2', ')'))}" if kind > 0.9 else name


def coverage(random: Random) -> str:
    """Elements that a class lacks: CLASS:ELEMENTS with ranges, lists, signs and rubbish."""
    label = random.choice(("0", "1", "2", "-1", "cat", "dog", "", number_text(random), text(random)))
    count = random.choice((1, 1, 2, 3, 500))
    elements = ",".join(
        random.choice(("0", "1", "3", "9", "0-2", "..", number_text(random))) for _ in range(count)
    )
    return random.choice(
        (f"{label}:{elements}", f"{label}{elements}", f"{label}:", elements, f"{label}:{text(random)}")
    )


def grammar(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """One name, given to the function that reads it."""
    kind = random.random()
    if kind < 0.6:
        name = group_name(random)
        return f"parse({shown(name)})", lambda: of_call(
            lambda: repr(parse(name)), wrong_type=False, finite=False
        )
    if kind < 0.9:
        action = random.choice((*ACTIONS, text(random), f"{random.choice(ACTIONS)}:{text(random)}"))
        name, shape = (
            group_name(random),
            random.choice(((6, 6), (8,), (3, 6, 6), (5, 7), (1, 1), (), (0, 0), (4, 4, 4, 4))),
        )
        return (
            f"parse_action({shown(action)}, {shown(name)}, {shape})",
            lambda: of_call(lambda: parse_action(action, name, shape).name, wrong_type=False, finite=False),
        )
    data = random.choice(("tiny.npz", "words.npz", "numbers.npz"))
    stock.take(stock_folder, folder, "nets.py", data)
    arguments = [*FORECAST, "--data", data, "--missing", coverage(random)]
    if random.random() < 0.3:
        arguments += ["--group", random.choice((group_name(random), random.choice(WORDS)))]
    return f"symscope {arguments}", lambda: of_command(arguments)


def shown(name: str) -> str:
    """A name that fits on a line."""
    return repr(name) if len(name) < 100 else f"{name[:80]!r} ... ({len(name)} characters)"
