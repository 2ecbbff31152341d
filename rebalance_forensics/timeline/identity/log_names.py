"""Whose log a file is, by its name and by the process ids in it: several programs may write to one directory."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalance_forensics.timeline.identity.participants import Participant

# Words in the names of logs and units that do not identify an application.
_OF_ANY_LOG = frozenset(
    """
    gc log current pid jvm safepoint service gz txt app old thread threads dump jstack jcmd stack tdump hs err
    error errors stderr stdout console out warn info debug output application copy bak backup orig saved
    """.split()  # noqa: SIM905 - names read best as words
)
# Words in the names of main classes, archives and directories that do not either.
OF_ANY_PROGRAM = _OF_ANY_LOG | frozenset(
    """
    com org net io dev main application server java jar war lib opt home apps srv usr var launcher loader boot spring
    springframework jarlauncher warlauncher propertieslauncher cli bootstrap runner example prod production staging
    stage test qa snapshot release final kafka client consumer consumers group worker node logs system slice scope
    """.split()  # noqa: SIM905
)
# `gc.pid4242.log` of JDK 8, `gc-4242.log` of later ones (%p), `hs_err_pid4242.log`.
_PID_IN_A_NAME = re.compile(r"(?<![a-z])pid[-_.]?(\d{1,7})(?![\d])|(?<![a-z])gc[-_.](\d{3,7})(?=[-_.])")
# HotSpot starts the threads that stop all others in its first moment.
THREADS_OF_A_START = 256


def application_words(name: str) -> set[str]:
    """Words in the name of a file or unit that identify its application; empty for `gc.log`."""
    return words_of(name.rpartition("/")[2]) - _OF_ANY_LOG


def is_called_gc_log(path: str) -> bool:
    """True for `gc.log`, `gc-4711.log.0`, `orders-gc.log`: what runs an application logs its collections there."""
    return "gc" in words_of(path.rpartition("/")[2])


def words_of(name: str) -> set[str]:
    """The words of a name, in lower case."""
    return {word for word in re.split(r"[^a-z]+", name.lower()) if len(word) > 1}


def process_id_in(path: str) -> int | None:
    """The process id in the name of a log, as `%p` gives it: 4711 of `gc-4711.log.0`."""
    named = _PID_IN_A_NAME.search(path.rpartition("/")[2])
    return int(named[1] or named[2]) if named else None


def may_be_its_log(participant: Participant, path: str, number: int | None = None) -> bool:
    """False for the log of another JVM, by the process id in its name or the `number` of a process or thread in it.

    So is one that is named after another application: it has words that the member's names lack.
    """
    same = participant.has_pid(number)
    # Decorations of unified logging do not tell a process id from that of a thread.
    if same is False and any(0 <= (number or 0) - pid <= THREADS_OF_A_START for pid in participant.pids):
        same = None
    return _may_be_its_log(participant, path, application_words(path), same=same)


@lru_cache(maxsize=1 << 12)
def may_have_written(participant: Participant, path: str, pid: int | None = None) -> bool:
    """False for a log beside that of the member which is another application's, by its name or its process id."""
    if path in participant.files or not participant.files:
        return True
    return _may_be_its_log(participant, path, application_words(path) - OF_ANY_PROGRAM, same=participant.has_pid(pid))


def _may_be_its_log(participant: Participant, path: str, words: set[str], *, same: bool | None) -> bool:
    if participant.pids and (pid := process_id_in(path)) is not None:
        return pid in participant.pids
    if same is not None:
        return same
    names = (participant.name, *participant.client_ids, *participant.hosts)
    own = {word for name in names for word in words_of(name)}
    own.update(word for file in participant.files for word in words_of("/".join(file.split("/")[-2:])))
    return not words or (not words.isdisjoint(own) and words - OF_ANY_PROGRAM <= own)
