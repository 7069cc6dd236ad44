"""Sizes in bytes: as numbers and as people write them."""

from __future__ import annotations

import re

from symscope.errors import InputError

DEFAULT_MEMORY = "1GB"  # working memory a call may use unless the caller sets another

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
        number = float(memory)
    if not 1 <= number < float("inf"):
        raise InputError(f"memory: expected a positive number of bytes, got {memory!r}.")
    return int(number)


def byte_text(count: int | float) -> str:
    """Bytes as a person reads them; rounded up, so that the text is never too small a budget.

    >>> byte_text(1), byte_text(1_234_567), byte_text(2e9)
    ('1 B', '1.24 MB', '2 GB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{-(-count * 100 // scale) / 100:g} {unit}"
    return f"{count:.0f} B"
