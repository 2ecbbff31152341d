"""Handles Ctrl-C, SIGTERM and SIGHUP: the process cleans up and exits soon, with the code that shells expect."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer, current_thread, main_thread
from types import FrameType

from rebalance_forensics.process import scratch

# A command may take this long to clean up; after that it exits wherever it is.
SOON_S = 1.5
_NUMBERS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_SENTENCES = {"SIGINT": "interrupted", "SIGTERM": "terminated (SIGTERM)", "SIGHUP": "its terminal was closed (SIGHUP)"}


class _State:
    """The signals that this process received, and how it exits."""

    received = 0
    heeding = False
    patience_s = SOON_S
    at_once: tuple[Callable[[], None], ...] = ()


def at_once(end: Callable[[], None]) -> Callable[[], None]:
    """Register a function to be called as soon as the process is asked to stop: its children must not outlive it."""
    _State.at_once = (*_State.at_once, end)
    return end


def is_stopping() -> bool:
    """True if the process was asked to stop; errors in its parts are then expected."""
    return _State.received != 0


def exit_code() -> int:
    """The exit code for the signal: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + (_State.received or signal.SIGINT)


def sentence() -> str:
    """The sentence for the user."""
    name = signal.Signals(_State.received or signal.SIGINT).name
    return f"{_SENTENCES[name]}; results are incomplete."


@contextmanager
def heeded(patience_s: float = SOON_S) -> Iterator[None]:
    """Turn these signals into KeyboardInterrupt; a signal that is ignored (nohup) stays ignored."""
    if current_thread() is not main_thread():
        yield
        return
    ordinary = (signal.SIG_DFL, signal.default_int_handler, _stop)
    before = {n: handler for n in _NUMBERS if (handler := signal.getsignal(n)) in ordinary}
    outer = _State.heeding, _State.patience_s
    _State.heeding, _State.patience_s = True, patience_s
    for number in before:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        _State.heeding, _State.patience_s = outer
        for number, handler in before.items():
            signal.signal(number, handler)


def heed_again() -> None:
    """Install the handlers again: PySpark replaces them when a session starts."""
    if _State.heeding and current_thread() is main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    if _State.received:
        # After a second signal it no longer cleans up.
        _end_now()
    _State.received = number
    last = Timer(_State.patience_s, _end_now, [sentence()])
    last.daemon = True
    last.start()
    for end in _State.at_once:
        end()
    raise KeyboardInterrupt


def _end_now(last_words: str = "") -> None:
    if last_words:
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"rebalance-forensics: {last_words}\n")
            sys.stderr.flush()
    for end in _State.at_once:
        end()
    scratch.forget()
    os._exit(exit_code())
