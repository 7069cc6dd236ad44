"""Checks of what callers give: counts, ridges, finite numbers, devices, bytes, points for a kernel."""

from __future__ import annotations

import operator
import re

import torch
from torch import Tensor

from symscope.errors import InputError


def check_count(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """The value as a plain integer, refused when it is not an integer from `least` to `most`.

    Args:
        name: What the message calls it.
        value: What the caller gave.
        least: The smallest value that makes sense.
        most: The largest value that can be handled, or None.

    Returns:
        The value.

    Raises:
        InputError: Not an integer, too small or too large.

    >>> check_count("nodes", 3)
    3
    """
    expected = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}"
    try:
        whole = operator.index(value)  # type: ignore[arg-type]
        least, most = operator.index(least), None if most is None else operator.index(most)
    except (TypeError, RuntimeError):  # a tensor of several numbers
        raise InputError(f"{name}: expected {expected}, got {shortened(value)}.") from None
    if isinstance(value, bool):
        raise InputError(f"{name}: expected {expected}, got {value}.")
    if whole < least or (most is not None and whole > most):
        raise InputError(f"{name}: expected {expected}, got {shortened(whole)}.")
    return whole


def shortened(value: object) -> str:
    """A value as a message shows it: on one line, and never longer than a line.

    >>> shortened(7), shortened(10**5000)
    ('7', 'an integer of 16610 bits')
    """
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_ridge(ridge: object, name: str = "ridge") -> None:
    """Refuses a ridge that is not a number, negative or not finite.

    Args:
        ridge: What the caller gave; it is added to the diagonal of a kernel matrix.
        name: What the message calls it.

    Raises:
        InputError: It cannot be used.

    >>> check_ridge(-1.0)
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: ridge: expected a finite number of at least 0, got -1.0.
    """
    if not isinstance(ridge, int | float) or not 0 <= ridge < float("inf"):
        raise InputError(f"{name}: expected a finite number of at least 0, got {ridge!r}.")


def check_finite(name: str, x: Tensor) -> None:
    """Refuses NaN and infinite entries, with their count and the place of the first.

    Args:
        name: What the message calls the tensor.
        x: Numbers of any shape.

    Raises:
        InputError: Some entry is NaN or infinite.

    >>> check_finite("x", torch.tensor([1.0, 2.0]))
    """
    x = x.detach()
    # the sum is finite whenever all entries are finite and small: one pass, and no mask the size of x
    if bool(torch.isfinite(x.sum())):
        return
    bad = ~torch.isfinite(x)
    count = int(bad.sum())
    if count:
        first = tuple(bad.nonzero()[0].tolist())
        raise InputError(
            f"{name}: expected finite numbers, got {count} of {x.numel()} entries NaN or infinite, "
            f"the first at index {first} ({x[first].item()}); repair or remove those samples."
        )


def out_of_range(largest: Tensor) -> tuple[Tensor, str]:
    """Which sizes are so large or small that fourth powers, as in kernels, leave the range of their type.

    Returns:
        Where it is so, never for 0, and the allowed range in words.

    >>> out_of_range(torch.tensor([1e160, 1.0, 0.0], dtype=torch.float64))
    (tensor([ True, False, False]), '1e-77 to 1e+77')
    """
    if not largest.is_floating_point():
        raise InputError(f"largest: expected floating-point numbers, got {largest.dtype}; use x.double().")
    limits = torch.finfo(largest.dtype)
    low, high = limits.tiny**0.25, limits.max**0.25
    return (largest > high) | ((largest < low) & (largest > 0)), f"{low:.0e} to {high:.0e}"


def usable_device(device: torch.device | str | None, like: Tensor) -> torch.device:
    """The device to compute on: as asked, or that of a tensor.

    Args:
        device: Device asked for, or None.
        like: The tensor whose device is taken where none was asked for.

    Raises:
        InputError: There is no such device here.

    >>> usable_device(None, torch.ones(1)).type
    'cpu'
    """
    try:
        where = like.device if device is None else torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InputError(f'device: expected "cpu", "cuda" or a torch.device, got {device!r}.') from error
    if where.type == "cuda" and not torch.cuda.is_available():
        raise InputError('device: "cuda" was asked for, but torch sees no CUDA device; use device="cpu".')
    if where.type == "cuda" and (where.index or 0) >= torch.cuda.device_count():
        raise InputError(f"device: torch sees {torch.cuda.device_count()} CUDA devices, got {where}.")
    return where


def check_point_sets(x1: Tensor, x2: Tensor | None, leading: int = 1) -> None:
    """Raise unless both are good points of one kind: same dtype, device, feature shape and batch.

    Raises:
        InputError: Says what differs, or what is wrong with one of them.

    >>> check_point_sets(torch.zeros(2, 3), torch.zeros(2, 4))
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: x1 and x2: expected points of one shape, got (3,) and (4,).
    """
    leading = check_count("leading", leading)
    _check_form("x1", x1, leading)
    if x2 is not None:
        _check_form("x2", x2, leading)
        _check_alike(x1, x2, leading)
        check_finite("x2", x2)
    check_finite("x1", x1)


def _check_form(name: str, x: Tensor, leading: int) -> None:
    axes = "[n, *s]" if leading == 1 else "[b, n, *s]"
    if not isinstance(x, Tensor):
        raise InputError(
            f"{name}: expected a torch.Tensor {axes}, got {type(x).__name__}; use torch.as_tensor."
        )
    if not x.is_floating_point():
        raise InputError(f"{name}: expected floating-point numbers, got {x.dtype}; use {name}.double().")
    if x.ndim <= leading:
        raise InputError(
            f"{name}: expected shape {axes} with at least one axis of features, got {tuple(x.shape)}; "
            f"for numbers use {name}[..., None]."
        )
    if x.numel() == 0:
        raise InputError(
            f"{name}: expected at least one point with at least one feature, got {tuple(x.shape)}."
        )


def _check_alike(x1: Tensor, x2: Tensor, leading: int) -> None:
    if x1.dtype != x2.dtype:
        raise InputError(
            f"x1 and x2: expected one dtype, got {x1.dtype} and {x2.dtype}; convert one of them."
        )
    if x1.device != x2.device:
        raise InputError(
            f"x1 and x2: expected one device, got {x1.device} and {x2.device}; move one of them."
        )
    if x1.shape[leading:] != x2.shape[leading:]:
        shapes = f"{tuple(x1.shape[leading:])} and {tuple(x2.shape[leading:])}"
        raise InputError(f"x1 and x2: expected points of one shape, got {shapes}.")
    if leading == 2 and len(x1) != len(x2):
        raise InputError(f"x1 and x2: expected the same number of batches, got {len(x1)} and {len(x2)}.")


DEFAULT_MEMORY = "1GB"  # working memory a call may use unless the caller sets another
LARGEST_RESULT = 2**31  # bytes of one result that a few numbers ask for, such as a size or a count

_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}


def byte_count(memory: int | float | str) -> int:
    """A number of bytes, given as a number or as text with a unit.

    Args:
        memory: Bytes, or text such as "512MB" (powers of 1000) or "2 GiB" (powers of 1024).

    Returns:
        The number of bytes.

    Raises:
        InputError: It is not a positive amount of memory.

    >>> byte_count("2GB"), byte_count("1.5 MiB"), byte_count(4096)
    (2000000000, 1572864, 4096)
    """
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", memory.upper())
        if match is None:
            raise InputError(f'memory: expected bytes or text such as "2GB" or "512MiB", got {memory!r}.')
        number = float(match[1]) * _UNITS[match[2] or ""]
    else:
        number = float(memory) if isinstance(memory, int | float) and abs(memory) < 2**63 else float("nan")
    if not 1 <= number < float("inf"):
        raise InputError(f"memory: expected a positive number of bytes, got {memory!r}.")
    return int(number)


def byte_text(count: int | float) -> str:
    """Bytes as a person reads them; rounded up, so that the text is never too small a budget.

    >>> byte_text(1), byte_text(1_234_567), byte_text(2e9)
    ('1 B', '1.24 MB', '2 GB')
    """
    if not isinstance(count, int | float):
        raise InputError(f"count: expected a number of bytes, got {shortened(count)}.")
    if count >= 1e24:
        return "more than 10^24 bytes"
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{-(-count * 100 // scale) / 100:g} {unit}"
    return f"{count:.0f} B"


def check_memory(what: str, size: int, instead: str, most: int = LARGEST_RESULT) -> None:
    """Refuses, before it is built, what a few numbers ask for and memory should not hold.

    Args:
        what: What would be built.
        size: Bytes it would take.
        instead: What the caller can do.
        most: Bytes it may take.

    Raises:
        InputError: It would take more.

    >>> check_memory("the table of C100000", 8 * 10**10, "use group.multiply")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: the table of C100000: expected at most 2.15 GB, got 80 GB; use group.multiply.
    """
    if size > most:
        given = byte_text(size)
        raise InputError(f"{what}: expected at most {byte_text(most)}, got {given}; {instead}.")
