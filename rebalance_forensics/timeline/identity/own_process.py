"""Finds the process of a JVM, kernel or supervisor line that names neither a client nor a group.

Several JVMs may run on a host and write to the same directory, so a line is assigned to a member only by a name in it:
a process id, a unit, a main class, the threads of a consumer. Proximity in time and place is not enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.timeline.identity.log_names import OF_ANY_PROGRAM
from rebalance_forensics.timeline.identity.participants import LOWEST_OF_A_HOST, Participant, Participants

_WORD = re.compile(r"[A-Z]?[a-z]{1,64}|[A-Z]{1,64}(?![a-z])")
# The UID of a pod or the id of a container, in the path of a kubelet's log or the name of a host of Docker's.
_ID_OF_A_CONTAINER = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3})?[0-9a-f]{12,64}(?![0-9a-f])")
# The thread that sends a consumer's heartbeats bears the name of its group; with KIP-848's protocol it does not.
HEARTBEATS, BACKGROUND = "kafka-coordinator-heartbeat-thread", "consumer_background_thread"


def sequence_of(name: str) -> list[str]:
    """The words and numbers of a name in their order, in lower case."""
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


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


def begins_its_name(group: str, participant: Participant, name: str) -> bool:
    """True for several words with which the name of the group or the client begins: `orders-api` of `orders-api.eu`."""
    words = sequence_of(name.removesuffix(".service"))
    names = (participant.name, *participant.client_ids, group)
    return len(words) > 1 and any(sequence_of(each)[: len(words)] == words for each in names)


def _names(group: str, participant: Participant) -> Iterable[str]:
    directories = {part for file in participant.files for part in file.split("/")[:-1]} - participant.hosts
    return (participant.name, *participant.client_ids, group, *directories)


def _is_called(name: Sequence[str], own: Sequence[str]) -> bool:
    """True if a name is these words, or begins or ends with them and adds only words that any program has."""
    # `orders-eu-consumer` is the member orders-eu; `orders-eu-exporter` and `sync-orders-eu` run beside it. A single
    # word is shared by chance.
    if len(own) < 2 or name == own:
        return bool(own) and name == own
    if own not in (name[: len(own)], name[-len(own) :]):
        return False
    # Another number is another instance; supervisord counts from 00.
    return all(word in OF_ANY_PROGRAM or word in own or not word.strip("0") for word in name)


def may_run_in(participant: Participant, cgroups: Iterable[str]) -> bool:
    """False for the cgroup of a container if the member's log shows no container, or another one."""
    if own := container_ids(participant):
        # systemd escapes the dashes of a pod's UID.
        return any(each in cgroup.replace("_", "-") for cgroup in cgroups for each in own)
    return min(participant.pids, default=LOWEST_OF_A_HOST) < LOWEST_OF_A_HOST


def container_ids(participant: Participant) -> set[str]:
    """The ids of containers, or the UID of a pod, in the paths of its logs and the names of its hosts."""
    names = (*participant.files, *participant.hosts)
    return {found for name in names for found in _ID_OF_A_CONTAINER.findall(name) if not found.isdigit()}


def runs(group: str, participant: Participant, program: str) -> bool:
    """True for a main class or an archive that is named like the member.

    One word of its package may be that of many programs: `com.acme.etl.MonitorEtl` is not `etl-prod`.
    """
    path = program.rpartition("/")[2]
    parts = [path] if path.endswith((".jar", ".war")) else path.split(".")
    ends = [_program_words(".".join(parts[i:])) for i in reversed(range(len(parts)))]
    own = [words for name in _names(group, participant) if (words := _program_words(name))]
    # `search-indexer-v2` is run by SearchIndexer, search.Indexer, search.indexer.Main; `search` alone by SearchMain.
    whole = any(end == words and (len(end) > 1 or end is ends[0]) for end in ends for words in own)
    return whole or any(len(ends[0]) > 1 and ends[0] < words for words in own)


def _program_words(name: str) -> set[str]:
    return {word for found in _WORD.findall(name) if len(word := found.lower()) > 1} - OF_ANY_PROGRAM


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
    if (same := participant.has_pid(event.pid)) is not None:
        return same
    if event.threads is not None:
        return consumes(group, event.threads)
    # `app.jar` is what any program may be called; a file that was cut above its command line refuses nobody.
    return event.program is None or runs(group, participant, event.program)
