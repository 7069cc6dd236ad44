"""Files from strangers: arrays, images, IDX, weights and code, damaged or made to harm."""

from __future__ import annotations

import io
import os
import pickle
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import torch

from symscope.data import load_arrays
from tests.fuzz import stock
from tests.fuzz.area_cli import DISCOVER, FORECAST, SHOW
from tests.fuzz.hostile import damaged
from tests.fuzz.outcome import Outcome, of_call, of_command

SHAPES = """
(8,)
(8, 6)
(8, 3, 12)
(0, 6, 6)
(-1, 6, 6)
(10000000000000, 6, 6)
(99999999999999999999,)
(2**40,)
(8, 6, 6,
(1.5,)
(True,)
()
[8]
'x'
__import__('os')
""".strip().splitlines()
KINDS = ("<f2", "<f8", ">f8", "|O", "<U1", "<c16", "<M8[s]", "<i8", "|V8", "|b1", "<U999999999", "f8,f8", "x")
MARK = "executed"  # a file that only code inside another file can make


class _Payload:
    """Unpickling this makes a file: nothing of symscope may do it."""

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        return open, (MARK, "w")


def files(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """One damaged or hostile file, and the command that reads it."""
    words, read = random.choice(AREAS)(random, stock_folder, folder)

    def call() -> Outcome:
        outcome = read()
        assert not (folder / MARK).exists(), "a file from a stranger ran code"
        return outcome

    return words, call


def _arrays(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    name = random.choice(("tiny.npz", "words.npz", "numbers.npz", "pairs.npz"))
    stock.take(stock_folder, folder, "nets.py", name)
    path = folder / name
    if random.random() < 0.6:
        words = f"damaged {name}"
        path.write_bytes(_damaged_archive(random, path.read_bytes()))
    else:
        make = random.choice(HOSTILE_ARCHIVES)
        words = f"{make.__name__} as {name}"
        make(random, path)
    commands = (
        [*FORECAST, "--data", name, "--task", random.choice(("auto", "classification", "regression"))],
        [*SHOW, "--data", name],
        [*[word for word in DISCOVER if word not in ("--inputs", "2")], "--data", name],
    )
    command = random.choice(commands)
    return f"{words}: symscope {' '.join(command)}", lambda: of_command(command)


def _damaged_archive(random: Random, content: bytes) -> bytes:
    """Bytes at random, or a member damaged inside an archive that is whole."""
    if random.random() < 0.4:
        return damaged(random, content)
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w") as new:
        chosen = random.choice(old.namelist())
        for name in old.namelist():
            member = old.read(name)
            new.writestr(name, _damaged_member(random, member) if name == chosen else member)
    return result.getvalue()


def _damaged_member(random: Random, content: bytes) -> bytes:
    """A .npy file with another header, or with damaged bytes."""
    if random.random() < 0.4:
        return damaged(random, content)
    length = struct.unpack("<H", content[8:10])[0]
    header, body = content[10 : 10 + length].decode("latin1").strip(), content[10 + length :]
    shape = random.choice(SHAPES)
    kind = random.choice(KINDS)
    which = random.randrange(4)
    if which == 0:
        header = re.sub(r"'shape': \([^)]*\)", f"'shape': {shape}", header)
    elif which == 1:
        header = re.sub(r"'descr': '[^']*'", f"'descr': '{kind}'", header)
    elif which == 2:
        header = header.replace("False", random.choice(("True", "None", "1", "(" * 200)))
    else:
        header = random.choice(("{}", "", "[]", "None", "{'descr': '<f8'}", header[:-5], header * 3))
    written = header.encode("latin1") + b"\n"
    return content[:8] + struct.pack("<H", len(written)) + written + body


def object_arrays(random: Random, path: Path) -> None:
    """Pickled objects in place of numbers."""
    np.savez(path, X=np.array([_Payload()], dtype=object), y=np.array([_Payload()], dtype=object))


def odd_numbers(random: Random, path: Path) -> None:
    """Good shapes with numbers that break arithmetic."""
    n, side = random.choice((1, 2, 8)), random.choice((1, 2, 6))
    x = np.random.default_rng(random.randrange(2**32)).random((n, side, side))
    x = random.choice(
        (x * 1e160, x * 1e-200, x * 0, x * np.nan, x * np.inf, x - 1e308, -x, np.ones_like(x), x * 1e-30)
    )
    labels = random.choice(
        ([0, 1] * 4, [5] * 8, [-1, 2**62] * 4, [2e15, 0] * 4, [np.nan] * 8, [1e300, 2] * 4, [0.5] * 8)
    )
    np.savez(path, X=x, y=np.array(labels[:n]))


def odd_shapes(random: Random, path: Path) -> None:
    """Shapes and types that fit nothing."""
    shape = [random.choice((0, 1, 2, 3, 8)) for _ in range(random.randrange(0, 6))]
    kind = random.choice(
        (np.float16, np.int8, np.uint64, np.complex64, np.bool_, "U3", "M8[s]", "S2", np.longdouble)
    )
    other = [random.choice((0, 1, 8)) for _ in range(random.randrange(0, 3))]
    np.savez(
        path, X=np.zeros(shape, kind), y=np.zeros(other, random.choice((np.int64, np.float32, "U2", kind)))
    )


def other_keys(random: Random, path: Path) -> None:
    """Arrays under other names, or twice under the same."""
    names = random.choice(
        (("a.npy",), ("X.npy",), ("X.npy", "X.npy", "y.npy"), ("../X.npy", "y.npy"), ("X", "y"), ())
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name in dict.fromkeys(names):
            content = io.BytesIO()
            np.save(content, np.zeros(3))
            archive.writestr(name, content.getvalue() if random.random() < 0.8 else b"no array")


def bomb(random: Random, path: Path) -> None:
    """Gigabytes of zeros in a few megabytes."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**29,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("X.npy", "y.npy"):
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(header.getvalue())
                for _ in range(64 if random.random() < 0.1 else 4):
                    member.write(bytes(2**23))


def no_file(random: Random, path: Path) -> None:
    """Something that is no file under the name of one."""
    stock.remove(path)
    kind = random.randrange(5)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.symlink_to(path)
    elif kind == 3:
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to("/nowhere")


HOSTILE_ARCHIVES = (
    object_arrays,
    odd_numbers,
    odd_numbers,
    odd_shapes,
    odd_shapes,
    other_keys,
    bomb,
    no_file,
)


def _single_arrays(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    stock.take(stock_folder, folder, "x.npy", "y.npy")
    name = random.choice(("x.npy", "y.npy"))
    (folder / name).write_bytes(_damaged_member(random, (folder / name).read_bytes()))
    return (
        f"load_arrays with a damaged {name}",
        lambda: of_call(
            lambda: load_arrays(folder / "x.npy", labels=folder / "y.npy"), wrong_type=False, finite=True
        ),
    )


def _tree(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    """A folder of images or of IDX files with one of its files damaged."""
    name = random.choice(("images", "idx"))
    stock.take(stock_folder, folder, "nets.py", name)
    chosen = random.choice(sorted(path for path in (folder / name).rglob("*") if path.is_file()))
    kind = random.randrange(6)
    if kind == 0:
        no_file(random, chosen)
    elif kind == 1 and name == "images":
        chosen.write_bytes(_png(random))
    elif kind == 2:
        stock.remove(chosen)
    else:
        chosen.write_bytes(damaged(random, chosen.read_bytes()))
    command = random.choice(([*FORECAST, "--data", name], [*SHOW, "--data", name]))
    return f"{chosen.relative_to(folder)} damaged: symscope {' '.join(command)}", lambda: of_command(command)


def _png(random: Random) -> bytes:
    """A picture that says it is enormous, or of an odd kind."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    side = random.choice((0, 1, 6, 20000, 60000, 2**31 - 1))
    depth, colour = random.choice(((8, 0), (16, 0), (1, 3), (8, 2), (8, 6), (3, 9)))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, depth, colour, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(bytes(random.choice((0, 42, 10**6)))))
        + chunk(b"IEND", b"")
    )


def _weights(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    stock.take(stock_folder, folder, "nets.py", "tiny.npz", "weights.pt")
    path, state = folder / "weights.pt", stock.NETWORK.state_dict()
    key = random.choice(list(state))
    options: dict[str, object] = {
        "payload": {"x": _Payload()},
        "list": [1, 2],
        "number": 3,
        "no tensors": dict.fromkeys(state, "x"),
        "missing key": {k: v for k, v in state.items() if k != key},
        "another key": {**state, "other": torch.zeros(1)},
        "another shape": {**state, key: state[key][None]},
        "NaN": {**state, key: state[key] * float("nan")},
        "huge": {**state, key: state[key] * 1e30},
        "complex": {**state, key: state[key] + 1j},
        "whole": {**state, key: state[key].long()},
        "sparse": {**state, key: state[key].to_sparse()},
        "meta": {**state, key: state[key].to("meta")},
        "numbers as keys": dict(enumerate(state.values())),
        "nested": {"state_dict": state, "epoch": 3},
    }
    words = random.choice((*options, "bytes", "bytes", "bytes", "pickle", "no file"))
    if words == "bytes":
        path.write_bytes(damaged(random, path.read_bytes()))
    elif words == "pickle":
        path.write_bytes(pickle.dumps(_Payload()))
    elif words == "no file":
        no_file(random, path)
    else:
        torch.save(options[words], path)
    command = [*FORECAST, "--weights", "weights.pt"]
    return f"weights.pt, {words}: symscope {' '.join(command)}", lambda: of_command(command)


BODIES = r"""
return None
return 3
return nn.Linear
raise ValueError("a\nb")
raise KeyboardInterrupt
raise SystemExit(3)
raise GeneratorExit
raise BaseException
import sys; sys.exit()
1 / 0
yield 3
return build()
return nn.Identity()
return nn.LSTM(6, 2)
return nn.Conv2d(1, 2, 3)
return nn.Linear(36, 2)
return nn.Sequential(nn.Flatten(), nn.Linear(36, 2).double())
return nn.Sequential(nn.Flatten(), nn.Linear(36, 0))
return nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(36, 2))
return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(36), nn.Linear(36, 2))
return nn.Sequential(nn.Flatten(), nn.LazyLinear(2))
return torch.jit.script(nn.Sequential(nn.Flatten(), nn.Linear(36, 2)))
return Odd("raise RuntimeError('no')")
return Odd("raise GeneratorExit")
return Odd("sys.exit()")
return Odd("return None")
return Odd("return x * 0")
return Odd("return torch.zeros(len(x), 2)")
return Odd("return x.flatten(1)[:, :2] * float('nan')")
return Odd("return x.flatten(1)[:, :2].long()")
return Odd("return x.flatten(1)[:, :2] * self.w * 1e200")
return Odd("return x.flatten(1)[:, :2].detach().numpy()")
return Odd("return x.flatten(1)[:, :2] + torch.rand(1) * self.w")
return [(torch.rand(6, 6), k) for k in range(3)]
return [(torch.rand(6, 6),)]
return [(torch.rand(k + 1, 6), 0) for k in range(3)]
return [(None, None)]
return [(1, 2), "ab"]
return iter(())
return "text"
return torch.rand(1)
""".strip().splitlines()
ODD = """
import sys
import torch
from torch import nn


class Odd(nn.Module):
    def __init__(self, code):
        super().__init__()
        self.w, self.code = nn.Parameter(torch.ones(2)), code

    def forward(self, x):
        scope = dict(torch=torch, sys=sys)
        exec("def f(self, x):\\n    " + self.code, scope)
        return scope["f"](self, x)


def build(*arguments):
"""


def _code(random: Random, stock_folder: Path, folder: Path) -> tuple[str, Callable[[], Outcome]]:
    stock.take(stock_folder, folder, "tiny.npz")
    code, body = f"{ODD}    {random.choice(BODIES)}\n", ""
    if random.random() < 0.2:
        content = damaged(random, code.encode())
    else:
        body, content = code.splitlines()[-1].strip(), code.encode()
    (folder / "own.py").write_bytes(content)
    commands = (
        [*FORECAST, "--model", "own.py:build"],
        [*FORECAST, "--data", "own.py:build", "--model", "mlp"],
        ["discover", "--model", "own.py:build", "--inputs", "6,6"],
        [*FORECAST, "--action", "own.py:build", "--model", "mlp"],
        ["discover", "--model", "own.py:build", "--loss", "own.py:build"],
    )
    command = random.choice(commands)
    command = ["forecast", *command[3:]] if command.count("--model") > 1 else command
    return f"own.py ({body or 'damaged'}): symscope {' '.join(command)}", lambda: of_command(command)


AREAS = (_arrays, _arrays, _arrays, _single_arrays, _tree, _tree, _weights, _code)
