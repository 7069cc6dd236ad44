"""Files from public mirrors: fetched by pooch, checked by content, named only when right.

The digest is that of the *uncompressed* content: mirrors may compress anew, the content stays.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import urllib.parse
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from symscope.errors import InputError
from symscope.numerics import Progress

if TYPE_CHECKING:
    import requests

_BLOCK = 1 << 16


def data_folder(name: str) -> Path:
    """The folder of fetched data unless another is named: the user's cache, `~/.cache/symscope/NAME`."""
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


def holds_content(path: Path, file: RemoteFile) -> bool:
    """Whether the file at `path`, plain or gzip, has the content that `file` names.

    Raises:
        InputError: The file cannot be read.

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
            stream = gzip.GzipFile(fileobj=raw) if compressed else raw
            while (block := stream.read(_BLOCK)) and size <= file.size:  # a bomb is not read to its end
                digest.update(block)
                size += len(block)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return False
    except OSError as error:
        raise InputError(f"{path}: expected a readable file, got: {error.strerror or error}.") from error
    return size == file.size and digest.hexdigest() == file.sha256


def download(
    file: RemoteFile,
    folder: Path,
    mirrors: Sequence[str],
    progress: Progress | None = None,
    timeout: float = 30.0,
) -> Path:
    """The checked file in the folder, taken from the first mirror that gives it.

    Args:
        file: The file to fetch.
        folder: Folder to put it in; it is made if missing.
        mirrors: Addresses of folders, http or https, asked in turn.
        progress: Called as `progress(name, bytes so far, bytes in all)`; 0 in all if the mirror does not say.
        timeout: Seconds without a byte after which a connection counts as broken.

    Returns:
        The path of the finished file.

    Raises:
        InputError: No mirror gave the right content, or the folder cannot be written.
    """
    import pooch
    import requests

    check_mirrors(mirrors)
    pooch.get_logger().setLevel("WARNING")
    reasons = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder) as place:
            for mirror in mirrors:
                address = mirror.rstrip("/") + "/" + file.name
                bar = _Bar(file.name, progress) if progress is not None else False
                downloader = pooch.HTTPDownloader(
                    progressbar=bar, chunk_size=_BLOCK, timeout=timeout, hooks={"response": _check_redirect}
                )
                try:
                    arrived = Path(pooch.retrieve(address, None, file.name, place, downloader=downloader))
                except requests.RequestException as error:
                    reasons.append(f"{address}: {error}")
                    continue
                if holds_content(arrived, file):
                    return arrived.replace(folder / file.name)
                arrived.unlink()
                reasons.append(f"{address}: the content has the wrong SHA-256")
    except OSError as error:
        raise InputError(f"{folder}: cannot store the download: {error.strerror or error}.") from error
    raise InputError(
        f"{file.name}: no mirror gave it. {'; '.join(reasons)}. Check the network and try again, or copy the "
        f"file from another computer into {folder}."
    )


def check_mirrors(mirrors: Sequence[str]) -> None:
    """Refuses an empty list of mirrors and addresses that are not http or https.

    >>> check_mirrors(["https://example.org/data/"])
    """
    if not mirrors or isinstance(mirrors, str):
        raise InputError(f"mirrors: expected a list of http or https addresses, got {mirrors!r}.")
    for mirror in mirrors:
        try:
            address = urllib.parse.urlsplit(mirror)
            usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
        except ValueError:  # half an IPv6 address, a port that is no number
            usable = False
        if not usable:
            raise InputError(f"mirrors: expected http or https addresses, got {mirror!r}.")


def _check_redirect(answer: requests.Response, **_: Any) -> None:
    """Called by requests before it follows a redirect: http may become https, nothing else may change."""
    from requests.exceptions import InvalidSchema

    if answer.is_redirect:
        before, target = answer.url, urllib.parse.urljoin(answer.url, answer.headers["location"])
        if not target.startswith(("https:", before.partition(":")[0] + ":")):
            raise InvalidSchema(f"refused: it redirects to {target!r}")


@final
class _Bar:
    """A progress bar as pooch wants one, handing over to ours."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name, self.progress, self.total, self.done = name, progress, 0, 0

    def update(self, count: int) -> None:
        self.done += count
        self.progress(self.name, min(self.done, self.total or self.done), self.total)

    def reset(self) -> None:
        """Called by pooch at the end, before it fills the bar once more."""
        self.done = 0

    def close(self) -> None:
        """Called by pooch; there is nothing to close."""
