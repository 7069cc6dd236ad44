"""The start of the program: Ctrl-C works from here on, before anything that takes time is imported."""

from __future__ import annotations

import _thread
import sys
import time

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of these
if TYPE_CHECKING:
    import signal
    import threading
    from types import FrameType
    from typing import Any
else:
    import _signal as signal  # `signal` itself loads `enum`, in which time Ctrl-C would show a traceback

LONGEST_IMPORT = 10.0  # seconds that Ctrl-C waits for an import to end


class CtrlC:
    """A handler of SIGINT that lets an import end first, and then raises KeyboardInterrupt.

    An exception half-way through a compiled module does not arrive as it was raised: PyTorch and numpy turn
    it into an ImportError, or go on without what they could not import.
    """

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.waiting: threading.Timer | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt now, or look again in a moment."""
        now = time.monotonic()
        self.deadline = now + LONGEST_IMPORT if self.deadline is None else self.deadline
        if importing(frame) and now < self.deadline:
            self.again()
            return
        self.deadline = None
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None
        raise KeyboardInterrupt

    def unraisable(self, failure: Any) -> None:
        """Where Python drops exceptions, in callbacks of weak references and in `__del__`, signal again."""
        if isinstance(failure.exc_value, KeyboardInterrupt):
            self.again()
        else:
            sys.__unraisablehook__(failure)

    def again(self) -> None:
        """Signal in a moment, once however often it is asked for: a second would come after the last line."""
        import threading

        if self.waiting is None:
            self.waiting = threading.Timer(0.05, self._signal)
            self.waiting.daemon = True
            self.waiting.start()

    def _signal(self) -> None:
        self.waiting = None
        _signal_main_thread()


def _signal_main_thread() -> None:
    import threading

    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # also while it waits
    else:  # Windows
        _thread.interrupt_main()


def importing(frame: FrameType | None) -> bool:
    """Whether a frame was called, at whatever distance, by an import."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def program() -> None:
    """The command `symscope`: `main`, stopped by Ctrl-C with one line, from its first import to its end."""
    status: int | str | None = 130
    try:
        handler = CtrlC()
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = handler.unraisable
        from symscope.cli._app import main

        main()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.stderr.write("symscope: stopped.\n")  # at once, or not at all
    except SystemExit as end:
        status = end.code
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own clean-up has nothing to say about it
    sys.exit(status)
