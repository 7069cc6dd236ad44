"""Files that are there as a whole or not at all, and locks that keep a second process out."""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from symscope.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: two writers at once are not kept apart there
    fcntl = None  # type: ignore[assignment]


def write_whole(content: str | bytes, path: Path) -> None:
    """Write a file for a person, complete or not at all, as `atomic_file` does.

    Args:
        content: All of it; text is written as UTF-8.
        path: The file; its folder must exist.

    Raises:
        InputError: The folder is not there or cannot be written, or the disk is full.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole("all of it", Path(folder, "page.html"))
    ...     print(Path(folder, "page.html").read_text(), os.listdir(folder))
    all of it ['page.html']
    """
    try:
        with atomic_file(path) as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}; choose a folder that exists, is writable and has space"
        ) from error


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the name `path` when the block ends, and disappears if the block fails.

    What stood there before stays until the new file is whole and on the disk. A link is followed; a device or
    a pipe (`/dev/null`, `/dev/stdout`) is written to as it is, because taking its name would remove it.

    Args:
        path: The final name; its folder must exist.

    Yields:
        The file, open for writing bytes.

    Raises:
        OSError: It could not be written; what stood there is untouched.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with open(target, "wb") as stream:
            yield stream
        return
    unfinished = target.with_name(f"{_prefix(target)}{uuid.uuid4().hex}")
    try:
        with open(unfinished, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # else a power cut may keep the name and lose the content
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_unfinished(path: Path) -> None:
    """Remove what processes that were killed while writing `path` have left beside it.

    Raises:
        OSError: The folder cannot be read or written.
    """
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f"{_prefix(target)}*"):
        left.unlink(missing_ok=True)


@contextmanager
def exclusive_lock(path: Path, busy: str) -> Iterator[BinaryIO]:
    """Hold a file's lock: two processes never work on the same thing. It ends with the block or the process.

    Args:
        path: The file that is locked; made if missing, its content is kept.
        busy: The message where another process, or another block of this one, holds the lock.

    Yields:
        The file, open for reading and for appending bytes.

    Raises:
        InputError: The lock is held.
        OSError: The file cannot be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, exclusive_lock(Path(folder, "lock"), "in use"):
    ...     with exclusive_lock(Path(folder, "lock"), "the folder is in use; wait"):
    ...         pass
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: the folder is in use; wait
    """
    with open(path, "a+b") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(busy) from error
        yield file


def _prefix(target: Path) -> str:
    """The same length for every name: long names are allowed, too."""
    return f".unfinished-{zlib.crc32(target.name.encode(errors='surrogateescape')):08x}-"
