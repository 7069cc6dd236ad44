"""How far a long computation is: one kind of callback for all."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], object]
"""Called as `progress(what, done, total)`: a few words such as "training, loss 0.031", and how far it is."""


def partial_progress(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of one part of a longer computation, counted in the whole.

    Args:
        progress: Progress of the whole.
        before: Steps that were done before this part.
        total: Steps of all parts.

    >>> second = partial_progress(lambda *now: print(now), before=10, total=20)
    >>> second("training", 3, 10)
    ('training', 13, 20)
    """
    if progress is None:
        return None
    return lambda what, done, _: progress(what, before + done, total)
