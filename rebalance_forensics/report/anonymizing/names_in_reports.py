"""The names in a report by kind: every person, host, group and topic that an outsider could recognize."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from rebalance_forensics.report.model import Report
from rebalance_forensics.report.wording import UNNAMED_CLUSTERS
from rebalance_forensics.timeline.model import GroupHistory, Identity

Named = tuple[str, str]
PARTITION = re.compile(r"(.+)-\d+")


def groups_of(report: Report) -> Iterator[Named]:
    """Yield every group with its kind: names of members and topics are made from its name."""
    yield from ((history.group, "group") for history in report.groups)
    yield from ((group, "group") for incident in report.incidents for group in incident.group_names)


def names_of(report: Report) -> Iterator[Named]:
    """Yield (name, kind), the most specific kind of a name first, in the order of the report."""
    for history in report.groups:
        yield history.group, "group"
        yield from _cluster(history.cluster)
        yield from _of_history(history)
    for incident in report.incidents:
        yield from ((group, "group") for group in incident.group_names)
        yield from _cluster(incident.cluster)
        for cause in incident.root_causes:
            for culprit in cause.culprits:
                yield culprit.name, culprit.kind
                yield from ((name, _kind(name, culprit.kind)) for name in culprit.names)
            yield from ((name, "client") for name in cause.affected)
        yield from _given(*((log.who, "client") for log in incident.would_decide))
    for log in report.inputs:
        yield from _cluster(log.cluster)
        if log.host:
            yield log.host, "host"


def _cluster(name: str) -> Iterator[Named]:
    return _given((None if name in UNNAMED_CLUSTERS else name, "cluster"))


def _of_history(history: GroupHistory) -> Iterator[Named]:
    for identity in history.identities:
        yield from _of_identity(identity)
    for generation in history.generations:
        for member in generation.members:
            yield from _given((member.client_id, "client"), (member.instance_id, "instance"))
            yield from _given((member.member_id, "member"), (_bare_host(member.host), "host"))
        yield from ((name, "member") for name in (*generation.joined, *generation.left))
        yield from _given((generation.leader, "member"))
    for pause in history.pauses:
        yield from _given((pause.client_id, "client"), (pause.member_id, "member"))
    read = [*(pause.partitions for pause in history.pauses), *(span.partitions for span in history.read)]
    partitions = {*chain.from_iterable(read), *(span.partition for span in history.unread)}
    yield from ((found.group(1), "topic") for found in map(PARTITION.fullmatch, sorted(partitions)) if found)
    for rebalance in history.reading.participants:
        yield from ((name, "client") for name in (*(rebalance.members or ()), *rebalance.missing) if name)
        yield from _given((rebalance.leader, "client"))
    yield from ((lane.name, lane.kind) for lane in history.lanes)
    yield from ((term.broker, "broker") for term in history.coordinators)
    yield from ((running.name, _kind(running.name, "process")) for running in history.versions)


def _of_identity(identity: Identity) -> Iterator[Named]:
    yield from _given(
        (identity.client_id, "client"), (identity.instance_id, "instance"), (_bare_host(identity.host), "host")
    )
    yield identity.name, identity.kind
    yield from ((member, "member") for member in identity.member_ids)
    yield from _given((identity.process, "process"))
    yield from ((name, _kind(name, identity.kind)) for name in identity.names)


def _given(*pairs: tuple[str | None, str]) -> Iterator[Named]:
    return ((name, kind) for name, kind in pairs if name)


def _bare_host(host: str | None) -> str | None:
    """Drop the slash that Java prints before an address."""
    return host.rpartition("/")[2] if host else None


def _kind(name: str, kind: str) -> str:
    return "file" if "/" in name or name.endswith((".log", ".gz", ".txt", ".json", ".out")) else kind
