"""Files from public mirrors: resumed, checked by content, never half-written under their own name.

A file arrives as `<name>.part` and is renamed once its content has the right SHA-256. The digest is that of
the *uncompressed* content: mirrors may compress anew, the content stays.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import http.client
import io
import os
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from symscope.errors import InputError

Progress = Callable[[str, int, int | None], None]
"""Called as `progress(name, bytes so far, bytes in all or None)`."""

_BLOCK = 1 << 16
_SLACK = 4096  # a gzip file is never longer than its content by more than its own headers
_ATTEMPTS = 2  # times a cut connection is taken up again without a new byte before the next mirror
_CANNOT_WRITE = {
    errno.ENOSPC: "the disk is full; free some space, what has arrived is kept and resumed",
    errno.EDQUOT: "the disk quota is used up; free some space, what has arrived is kept and resumed",
    errno.EACCES: "the folder cannot be written to; choose another folder",
    errno.EPERM: "the folder cannot be written to; choose another folder",
    errno.EROFS: "the folder is on a read-only disk; choose another folder",
}


def default_folder(name: str) -> Path:
    """Where fetched data lives unless told otherwise: the user's cache, `~/.cache/symscope/NAME`."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "symscope" / name


@final
@dataclass(frozen=True)
class RemoteFile:
    """A gzip file on a mirror, known by its content.

    Attributes:
        name: File name, on the mirror and in the folder.
        size: Bytes of the uncompressed content.
        sha256: SHA-256 of the uncompressed content, hexadecimal.
    """

    name: str
    size: int
    sha256: str


class _UnreachableError(Exception):
    """This mirror cannot give the file: go on to the next."""


class _CutError(Exception):
    """The connection ended early: the part that arrived is good, ask for the rest."""


def holds_content(path: Path, file: RemoteFile) -> bool:
    """Whether the file at `path`, plain or gzip, has the content that `file` names.

    >>> import tempfile
    >>> digest = hashlib.sha256(b"abc").hexdigest()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "letters")
    ...     _ = path.write_bytes(gzip.compress(b"abc"))
    ...     [holds_content(path, RemoteFile("letters", 3, sha)) for sha in (digest, "0" * 64)]
    [True, False]
    """
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream: io.BufferedIOBase = gzip.GzipFile(fileobj=raw) if compressed else raw
            while block := stream.read(_BLOCK):
                digest.update(block)
                size += len(block)
                if size > file.size:
                    return False
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return False
    except OSError as error:
        raise InputError(f"{path}: expected a readable file, got: {error.strerror or error}.") from error
    return size == file.size and digest.hexdigest() == file.sha256


def download(
    file: RemoteFile,
    folder: Path,
    mirrors: Sequence[str],
    *,
    progress: Progress | None = None,
    timeout: float = 30.0,
    otherwise: str = "",
) -> Path:
    """The checked file in the folder, taken from the first mirror that gives it.

    An earlier `.part` is resumed (HTTP Range); a server that does not know ranges sends all of it again. A
    connection that breaks is taken up again; a wrong content is thrown away; then the next mirror is asked.

    Args:
        file: What to fetch.
        folder: Where to; it is made if missing.
        mirrors: Addresses of folders, http or https, asked in turn.
        progress: Called after every block.
        timeout: Seconds without a byte after which a connection counts as broken.
        otherwise: What a user without a network can do, said at the end of the message.

    Returns:
        The path of the finished file.

    Raises:
        InputError: No mirror gave the right content, or the folder cannot be written.
    """
    check_mirrors(mirrors)
    part, final_path = folder / f"{file.name}.part", folder / file.name
    reasons = []
    with _reporting_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for mirror in mirrors:
            address = mirror.rstrip("/") + "/" + file.name
            try:
                _from_mirror(address, file, part, progress, timeout)
            except _UnreachableError as reason:
                reasons.append(f"{address}: {reason}")
            else:
                os.replace(part, final_path)
                return final_path
    raise InputError(
        f"{file.name}: no mirror gave it. "
        + "; ".join(reasons)
        + ". Check the network and try again (what has "
        f"arrived is resumed), or copy the file from another computer into {folder}. {otherwise}".rstrip()
    )


def check_mirrors(mirrors: Sequence[str]) -> None:
    """Refuses an empty list of mirrors and addresses that are not http or https.

    >>> check_mirrors(["https://example.org/data/"])
    """
    if not mirrors or isinstance(mirrors, str):
        raise InputError(f"mirrors: expected a list of http or https addresses, got {mirrors!r}.")
    for mirror in mirrors:
        if urllib.parse.urlsplit(mirror).scheme not in ("http", "https"):
            raise InputError(f"mirrors: expected http or https addresses, got {mirror!r}.")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder for one process: a second one waits, and then finds the files there.

    Two writers on one `.part` would spoil it. Where the system or the disk knows no such lock there is none.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    with _reporting_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # network disks without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _from_mirror(
    address: str, file: RemoteFile, part: Path, progress: Progress | None, timeout: float
) -> None:
    """Leaves a complete and correct `.part`, or says why this mirror cannot give it."""
    reason, farthest, attempts = "no answer", -1, _ATTEMPTS
    while attempts:
        start = part.stat().st_size if part.exists() else 0
        attempts = _ATTEMPTS if start > farthest else attempts - 1
        farthest = max(start, farthest)
        try:
            _append(address, file, part, start, progress, timeout)
        except _CutError as cut:
            reason = str(cut)
            continue
        if holds_content(part, file):
            return
        part.unlink()
        reason = "the content has the wrong SHA-256"
        if start == 0:  # it all came from here: asking again would bring the same
            break
    raise _UnreachableError(reason)


def _append(
    address: str, file: RemoteFile, part: Path, start: int, progress: Progress | None, timeout: float
) -> None:
    """Asks for the bytes from `start` on and writes them behind those that are there."""
    headers = {"User-Agent": "symscope", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        response = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            return  # nothing behind our last byte: the part is whole, or wrong, and the digest tells
        raise _UnreachableError(f"HTTP {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _UnreachableError(str(error.reason)) from error
    except (OSError, http.client.HTTPException) as error:
        raise _UnreachableError(str(error) or type(error).__name__) from error
    with response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0  # the server sends the whole file again
        length = response.headers.get("Content-Length")
        total = start + int(length) if length and length.isdigit() else None
        done, limit = start, file.size + _SLACK
        with part.open("r+b" if start else "wb") as out:
            out.seek(start)
            for block in _blocks(response):
                out.write(block)
                done += len(block)
                if done > limit:
                    break  # longer than its content can be: the digest will refuse it
                if progress is not None:
                    progress(file.name, done, total)
            out.truncate()
            out.flush()
            os.fsync(out.fileno())
    if total is not None and done < min(total, limit):
        raise _CutError(f"the connection broke after {done} of {total} bytes")


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            block = response.read(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise _CutError(f"the connection broke ({error or type(error).__name__})") from error
        if not block:
            return
        yield block


@contextlib.contextmanager
def _reporting_disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = _CANNOT_WRITE.get(error.errno or 0, error.strerror or str(error))
        raise InputError(f"{folder}: cannot store the download: {reason}.") from error
