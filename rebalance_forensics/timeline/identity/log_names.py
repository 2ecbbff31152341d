"""The words and the process id in the name of a log, since several programs may write to the same directory."""

from __future__ import annotations

import re

# Words in the names of logs and units that do not identify an application.
_OF_ANY_LOG = frozenset(
    """
    gc log current pid jvm safepoint service gz txt app old thread threads dump jstack jcmd stack tdump hs err
    error errors stderr stdout console out warn info debug output application copy bak backup orig saved
    """.split()  # noqa: SIM905 - names read best as words
)
# Words in the names of main classes, archives and directories that do not identify an application.
OF_ANY_PROGRAM = _OF_ANY_LOG | frozenset(
    """
    com org net io dev main application server java jar war lib opt home apps srv usr var launcher loader boot spring
    springframework jarlauncher warlauncher propertieslauncher cli bootstrap runner example prod production staging
    stage test qa snapshot release final kafka client consumer consumers group worker node logs system slice scope
    """.split()  # noqa: SIM905
)
# `gc.pid4242.log` of JDK 8, `gc-4242.log` of later ones (%p), `hs_err_pid4242.log`.
_PID_IN_A_NAME = re.compile(r"(?<![a-z])pid[-_.]?(\d{1,7})(?![\d])|(?<![a-z])gc[-_.](\d{3,7})(?=[-_.])")
# HotSpot starts the threads that stop all others immediately.
THREADS_OF_A_START = 256


def application_words(name: str) -> set[str]:
    """Words in the name of a file or unit that identify its application; empty for `gc.log`."""
    return words_of(name.rpartition("/")[2]) - _OF_ANY_LOG


def is_called_gc_log(path: str) -> bool:
    """True for the names of GC logs: `gc.log`, `gc-4711.log.0`, `orders-gc.log`."""
    return "gc" in words_of(path.rpartition("/")[2])


def words_of(name: str) -> set[str]:
    """The words of a name, in lower case."""
    return {word for word in re.split(r"[^a-z]+", name.lower()) if len(word) > 1}


def process_id_in(path: str) -> int | None:
    """The process id (`%p`) in the name of a log, or None: 4711 for `gc-4711.log.0`."""
    named = _PID_IN_A_NAME.search(path.rpartition("/")[2])
    return int(named[1] or named[2]) if named else None
