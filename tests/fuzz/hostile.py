"""Values that break programs: numbers, text, bytes, JSON and tensors, each from a random generator."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import torch
from torch import Tensor

INTEGERS = (0, -1, 1, 2, 3, 7, 255, 2**31, 2**53 + 1, 2**63, -(2**63), 10**30, 10**400, True)
FLOATS = (0.0, -0.0, -1.0, 0.5, 1.0, 1e-320, 1e-200, 1e160, 1e308, float("nan"), float("inf"), -float("inf"))
WORDS = (
    *(
        "",
        " ",
        "\n",
        "a\nb",
        "\t",
        "0",
        "-1",
        "--",
        "-",
        "1e999",
        "nan",
        "inf",
        "-inf",
        "0x10",
        "1_000",
        "1,2",
    ),
    *(
        "1,,2",
        ",",
        ":",
        "::",
        "a:b",
        "=",
        "a=b",
        "٣",
        "½",
        "²",
        "é",
        "日本",
        "😀",
        "\u202eabc",
        "\ufeff",
        "\udcff",
    ),
    *(
        "[bold]x[/bold]",
        "[/]",
        "{0}",
        "%s",
        "$HOME",
        "~",
        "*",
        "None",
        "True",
        "null",
        "../up",
        "a/b/c",
        "\x7f",
    ),
    *("/dev/null", "/dev/full", "/nowhere/at/all", "http://[::1", "C8", "sample", "\x1b[31m"),
    *("x" * 300, "9" * 30, "9" * 5000, "(" * 500),
)


def number_text(random: Random) -> str:
    """A number as somebody may type it, or nearly one."""
    kind = random.randrange(5)
    if kind == 0:
        return str(random.choice(FLOATS))
    if kind == 1:
        return str(random.randrange(-3, 12))
    if kind == 2:
        return f"{random.uniform(-2, 2):.3g}"
    if kind == 3:
        return f"{random.choice('+-')}{random.randrange(1, 99)}e{random.randrange(-400, 400)}"
    value = random.choice(INTEGERS)
    return str(value) if abs(value) < 10**300 else "1" + "0" * random.choice((300, 4301))


def text(random: Random, alphabet: str = "aCD8x()*:,=-. \nπ0") -> str:
    """One of the words that break programs, a few of them joined, or characters at random."""
    kind = random.randrange(4)
    if kind == 0:
        return "".join(random.choice(alphabet) for _ in range(random.randrange(1, 12)))
    if kind == 1:
        return random.choice("x:,=/ -").join(random.choice(WORDS) for _ in range(random.randrange(2, 4)))
    return random.choice(WORDS)


def damaged(random: Random, content: bytes) -> bytes:
    """A file's content cut, with bytes changed, removed or put in, or something else altogether."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 5))):
        place = random.randrange(len(data) + 1)
        # headers decide what a reader believes: half of the damage is done there
        place = min(place, random.randrange(200)) if random.random() < 0.5 else place
        kind = random.randrange(7)
        if kind == 0:
            del data[place:]
        elif kind == 1:
            data[place : place + 1] = bytes([random.randrange(256)])
        elif kind == 2:
            data[place : place + 4] = random.choice((b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"9999"))
        elif kind == 3:
            del data[place : place + random.choice((1, 7, 64))]
        elif kind == 4:
            data[place:place] = random.randbytes(random.choice((1, 9, 200)))
        elif kind == 5 and data:
            bit = random.randrange(len(data))
            data[bit] ^= 1 << random.randrange(8)
        elif random.random() < 0.2:
            return random.choice((b"", b"\0", b"[]", b"{}", b"null", random.randbytes(64), content * 2))
    return bytes(data)


def json_value(random: Random) -> Any:
    """JSON that is not what a program expects."""
    nested: Any = []
    for _ in range(random.choice((3, 5000))):
        nested = [nested]
    shallow = (
        None,
        True,
        [],
        {},
        [[]],
        {"": {}},
        -1,
        0,
        1e308,
        10**30,
        "",
        "x\ny",
        "<script>fuzz()</script>",
        "é",
    )
    return nested if random.random() < 0.05 else random.choice((*shallow, random.choice(WORDS)))


def json_text(value: Any) -> str:
    """The text of any JSON, however deep."""
    try:
        return json.dumps(value, indent=1)
    except RecursionError:
        return "[" * 5000 + "]" * 5000


def damaged_json(random: Random, content: bytes) -> bytes:
    """A JSON file with one value, somewhere, replaced, removed or put in: still JSON."""
    try:
        value = json.loads(content)
    except RecursionError:  # it is deep already
        return content
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    if isinstance(value, dict | list):
        walk(value)
    if not places or random.random() < 0.1:
        return json_text(json_value(random)).encode("utf-8", "replace")
    node, key = random.choice(places)
    if random.random() < 0.3:
        del node[key]
    else:
        node[key] = json_value(random)
    return json_text(value).encode("utf-8", "replace")


def changed_tensor(random: Random, x: Tensor) -> tuple[Tensor, str]:
    """A tensor that differs from a good one in rank, size, type, scale or content; and how."""
    x = x.detach().clone(memory_format=torch.contiguous_format)
    kind = random.choice(
        ("rank", "size", "empty", "dtype", "content", "content", "scale", "constant", "form")
    )
    if kind == "rank":
        options = [x[None], x[..., None], x.flatten(), x.sum()]
        return random.choice(options + ([x[0]] if x.ndim and len(x) else [])), "rank"
    if kind in ("size", "empty") and x.ndim:
        axis = random.randrange(x.ndim)
        size = 0 if kind == "empty" else random.choice((1, x.shape[axis] + 1, max(x.shape[axis] - 1, 0)))
        places = torch.arange(size, device=x.device) % max(x.shape[axis], 1)
        return (x.index_select(axis, places) if x.shape[axis] else x), f"axis {axis} of size {size}"
    if kind == "dtype":
        kinds = (
            torch.float16,
            torch.float32,
            torch.float64,
            torch.int64,
            torch.uint8,
            torch.bool,
            torch.complex128,
        )
        chosen = random.choice(kinds)
        return x.to(chosen), str(chosen)
    if kind == "content" and x.numel():
        numbers = (float("nan"), float("inf"), -float("inf"), 1e300, -1.0)
        whole = (-1, 2**62, -(2**63), 10**6)
        value = random.choice(whole if not (x.is_floating_point() or x.is_complex()) else numbers)
        wide = torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64)
        x.view(-1)[random.randrange(x.numel())] = wide.to(x.dtype)  # rounds to infinity where it must
        return x, f"an entry {value}"
    if kind == "scale" and (x.is_floating_point() or x.is_complex()):
        factor = random.choice((0.0, 1e-320, 1e-200, 1e-30, 1e30, 1e160, -1.0))
        return x * factor, f"times {factor}"
    if kind == "constant":
        return torch.ones_like(x) * random.choice((0, 1)), "constant"
    options = {"transposed": x.mT if x.ndim > 1 else x.flip(0) if x.ndim else x, "with gradient": x}
    chosen, words = random.choice([(value, key) for key, value in options.items()])
    if words == "with gradient" and x.is_floating_point():
        chosen = x.requires_grad_()
    return chosen, words


def other_type(random: Random, value: Any) -> tuple[Any, str]:
    """Something of another Python type."""
    options = [None, 0, 1.5, "x", [], {}, object(), torch.zeros(2), b"", (1, 2), complex(1, 1), int, torch]
    chosen = random.choice([one for one in options if type(one) is not type(value)])
    return chosen, f"{type(chosen).__name__} {chosen!r:.40}"
