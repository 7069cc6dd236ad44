"""Files for people: there as a whole, or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from symscope.errors import InputError


def write_whole(content: str | bytes, path: Path) -> None:
    """Write a file that is complete or not there: what stood there before stays until the new one is whole.

    The content goes to a new file beside it, which then takes its name. A link is followed; a device or a
    pipe (`/dev/null`, `/dev/stdout`) is written to as it is, because taking its name would remove it.

    Args:
        content: All of it; text is written as UTF-8.
        path: Where to; its folder must exist.

    Raises:
        InputError: The folder is not there or cannot be written, or the disk is full.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole("all of it", Path(folder, "page.html"))
    ...     print(Path(folder, "page.html").read_text(), os.listdir(folder))
    all of it ['page.html']
    """
    try:
        put_whole(content.encode() if isinstance(content, str) else content, path)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}; choose a folder that exists, is writable and has room"
        ) from error


def put_whole(data: bytes, path: Path) -> None:
    """What `write_whole` does, for callers with words of their own for what went wrong.

    Raises:
        OSError: It could not be written; what stood there is untouched.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        target.write_bytes(data)
        return
    unfinished = target.with_name(f".unfinished-{uuid.uuid4().hex}")
    try:
        with open(unfinished, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())  # else a power cut may keep the name and lose the content
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
