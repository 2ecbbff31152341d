"""Whose process a line of a JVM, the kernel or a supervisor is about, where the line names no client and no group.

Several JVMs may run on one host and write to one directory, so a line is a member's only by what it names: a process
id, a unit, a main class, the threads of a consumer. Being near in time and place is not enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.timeline.identity.participants import Participant, Participants

# Words in the names of logs and units that do not identify an application.
_OF_ANY_LOG = frozenset(
    """
    gc log current pid jvm safepoint service gz txt app old thread threads dump jstack jcmd stack tdump hs err
    error errors stderr stdout console out
    """.split()  # noqa: SIM905 - names read best as words
)
# Words in the names of main classes, archives and directories that do not either.
_OF_ANY_PROGRAM = _OF_ANY_LOG | frozenset(
    """
    com org net io dev main application server java jar war lib opt home apps srv usr var launcher loader boot spring
    springframework jarlauncher warlauncher propertieslauncher cli bootstrap runner example prod production staging
    stage test qa snapshot release final kafka client consumer consumers group worker node logs system slice scope
    """.split()  # noqa: SIM905
)
# Kafka's brokers, controllers and command-line tools; Connect and MirrorMaker are members of groups.
_OF_A_BROKER = re.compile(r"kafka\.(?:Kafka|admin|tools)\b|org\.apache\.kafka\.(?:server|tools|storage)\.")
_WORD = re.compile(r"[A-Z]?[a-z]{1,64}|[A-Z]{1,64}(?![a-z])")
# After a wrap-around Linux gives no process id below this again (RESERVED_PIDS in kernel/pid.c): a lower number was
# printed inside a container, and the kernel knows that process by another.
_LOWEST_OF_A_HOST = 300
# The UID of a pod or the id of a container, in the path of a kubelet's log or the name of a host of Docker's.
_ID_OF_A_CONTAINER = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3})?[0-9a-f]{12,64}(?![0-9a-f])")
# `gc.pid4242.log` of JDK 8, `gc-4242.log` of later ones (%p), `hs_err_pid4242.log`.
_PID_IN_A_NAME = re.compile(r"(?<![a-z])pid[-_.]?(\d{1,7})(?![\d])|(?<![a-z])gc[-_.](\d{3,7})(?=[-_.])")
# HotSpot starts the threads that stop all others in its first moment.
_THREADS_OF_A_START = 256
# The thread that sends a consumer's heartbeats bears the name of its group; with KIP-848's protocol it does not.
HEARTBEATS, BACKGROUND = "kafka-coordinator-heartbeat-thread", "consumer_background_thread"


def application_words(name: str) -> set[str]:
    """Words in the name of a file or unit that identify its application; empty for `gc.log`."""
    return words_of(name.rpartition("/")[2]) - _OF_ANY_LOG


def words_of(name: str) -> set[str]:
    """The words of a name, in lower case."""
    return {word for word in re.split(r"[^a-z]+", name.lower()) if len(word) > 1}


def sequence_of(name: str) -> list[str]:
    """The words and numbers of a name in their order, in lower case."""
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def may_be_its_log(participant: Participant, path: str, number: int | None = None) -> bool:
    """False for a log of another process, by the process id in its name or the `number` of a process or thread in it.

    So is one that is named after another application: it shares no word with the member's names.
    """
    if (named := _PID_IN_A_NAME.search(path.rpartition("/")[2])) and participant.pids:
        return int(named[1] or named[2]) in participant.pids
    if number is not None and participant.pids:
        # Decorations of unified logging do not tell a process id from that of a thread.
        return any(0 <= number - pid <= _THREADS_OF_A_START for pid in participant.pids)
    words = application_words(path)
    own = (participant.name, *participant.client_ids, *(file.rpartition("/")[2] for file in participant.files))
    return not words or any(not words.isdisjoint(words_of(name)) for name in own)


def is_named_after(group: str, participant: Participant, name: str) -> bool:
    """True for a unit or a program with the whole name of the client, the application, the group or a directory.

    Words of the host, or a single word that both have, are of no weight: `node-exporter` runs on every `node-1`.
    """
    words = sequence_of(name.removesuffix(".service").partition("@")[0])
    # A member may be known by its host alone.
    names = [
        each for each in _names(group, participant) if each in participant.client_ids or each not in participant.hosts
    ]
    own = [sequence_of(each) for each in names]
    own += [each[:-1] for each in own if len(each) > 1 and each[-1].isdigit()]
    return any(_is_called(words, each) for each in own)


def _names(group: str, participant: Participant) -> Iterable[str]:
    directories = {part for file in participant.files for part in file.split("/")[:-1]} - participant.hosts
    return (participant.name, *participant.client_ids, group, *directories)


def _is_called(name: Sequence[str], own: Sequence[str]) -> bool:
    """True where a name is these words, or begins or ends with them and adds only words that any program has."""
    # `orders-eu-consumer` is the member orders-eu; `orders-eu-exporter` and `sync-orders-eu` run beside it. A single
    # word is shared by chance.
    if len(own) < 2 or name == own:
        return bool(own) and name == own
    if own not in (name[: len(own)], name[-len(own) :]):
        return False
    # Another number is another instance; supervisord counts from 00.
    return all(word in _OF_ANY_PROGRAM or word in own or not word.strip("0") for word in name)


def has_pid(participant: Participant, pid: int | None, *, of_the_kernel: bool = False) -> bool | None:
    """True for a process id that the member's log prints, False for another's; None where that is not shown.

    Every container has a process 1, so equal low numbers tie nothing; the kernel calls such a process by another.
    """
    if pid is None or not participant.pids:
        return None
    if pid in participant.pids:
        return True if pid >= _LOWEST_OF_A_HOST else None
    return None if of_the_kernel and min(participant.pids) < _LOWEST_OF_A_HOST else False


def may_run_in(participant: Participant, cgroups: Iterable[str]) -> bool:
    """False for the cgroup of a container where the member's log shows none, or another."""
    if own := container_ids(participant):
        # systemd escapes the dashes of a pod's UID.
        return any(each in cgroup.replace("_", "-") for cgroup in cgroups for each in own)
    return min(participant.pids, default=_LOWEST_OF_A_HOST) < _LOWEST_OF_A_HOST


def container_ids(participant: Participant) -> set[str]:
    """The ids of containers, or the UID of a pod, in the paths of its logs and the names of its hosts."""
    names = (*participant.files, *participant.hosts)
    return {found for name in names for found in _ID_OF_A_CONTAINER.findall(name) if not found.isdigit()}


def runs(group: str, participant: Participant, program: str) -> bool:
    """True for a main class or an archive called like the member.

    One word of its package may be that of many programs: `com.acme.etl.MonitorEtl` is not `etl-prod`.
    """
    if _OF_A_BROKER.match(program):
        return False
    path = program.rpartition("/")[2]
    parts = [path] if path.endswith((".jar", ".war")) else path.split(".")
    ends = [_program_words(".".join(parts[i:])) for i in reversed(range(len(parts)))]
    own = [words for name in _names(group, participant) if (words := _program_words(name))]
    # `search-indexer-v2` is run by SearchIndexer, search.Indexer, search.indexer.Main; `search` alone by SearchMain.
    whole = any(end == words and (len(end) > 1 or end is ends[0]) for end in ends for words in own)
    return whole or any(len(ends[0]) > 1 and ends[0] < words for words in own)


def _program_words(name: str) -> set[str]:
    return {word for found in _WORD.findall(name) if len(word := found.lower()) > 1} - _OF_ANY_PROGRAM


def consumes(group: str, threads: Iterable[str]) -> bool:
    """True for a process with a thread of a consumer of this group, or with one that does not name its group."""
    names = list(threads)
    return f"{HEARTBEATS} | {group}" in names or any(name.startswith(BACKGROUND) for name in names)


def ended_with(group: str, participants: Participants, event: ev.ProcessDied) -> Sequence[Participant]:
    """The participants that ended with a process: all that write to its log, or the only one that it may have been."""
    present = participants.at_place(event)
    in_its_log = [participant for participant in present if event.speaker.file in participant.files]
    if in_its_log or event.or_later or event.pid is None or len(present) != 1:
        return in_its_log
    return present if _may_have_been(group, present[0], event) else ()


def _may_have_been(group: str, participant: Participant, event: ev.ProcessDied) -> bool:
    """False for an error file of a process that was not the member's, by what the file lists of it."""
    # Words in a main class may be shared by chance, the name of a thread is not.
    if (same := has_pid(participant, event.pid)) is not None:
        return same
    if event.threads is not None:
        return consumes(group, event.threads)
    # `app.jar` is what any program may be called; a file that was cut above its command line refuses nobody.
    return event.program is None or runs(group, participant, event.program)
