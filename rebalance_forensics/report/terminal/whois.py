"""Shows the identities behind a name over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.console import RenderableType

from rebalance_forensics.records import EpochMs, is_timed
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.rebalance_patterns import numbered
from rebalance_forensics.report.terminal.rich_blocks import indented, labelled, printed, text_block
from rebalance_forensics.report.times import utc
from rebalance_forensics.report.wording import group_of, in_ranges
from rebalance_forensics.timeline.identity.names import topic_of
from rebalance_forensics.timeline.model import GroupHistory, Identity, ReadSpan

COORDINATED_SHOWN = 20
READERS_SHOWN = 40


def render_whois(report: Report, name: str, *, width: int = 80, color: bool = False) -> str:
    """List every identity with the name or, if there is none, with a name that contains it."""
    return printed(_blocks(report, name), width=width, color=color)


def known(report: Report, name: str) -> list[tuple[GroupHistory, Identity]]:
    """The identities that a name stands for, in the order of the report."""
    everyone = [(history, identity) for history in report.groups for identity in history.identities]
    exactly = [(history, identity) for history, identity in everyone if name in _names(identity)]
    # A path completed by the shell starts outside the directory that was analyzed.
    exactly = exactly or [pair for pair in everyone if any(name.endswith(f"/{file}") for file in pair[1].files)]
    wanted = name.casefold()
    return exactly or [pair for pair in everyone if any(wanted in other.casefold() for other in _names(pair[1]))]


def _names(identity: Identity) -> set[str]:
    given = (identity.name, identity.client_id, identity.instance_id, identity.process, identity.thread, identity.host)
    return {*identity.names, *identity.member_ids, *identity.files, *(name for name in given if name)}


def is_known(report: Report, name: str) -> bool:
    """True if a member, a host, a file, a broker or a topic has the name."""
    return bool(known(report, name) or _coordinated(report, name) or _readers(report, name))


def all_names(report: Report) -> Iterator[str]:
    """Every name that can be looked up, those of members first."""
    everyone = [identity for history in report.groups for identity in history.identities]
    yield from (identity.name for identity in everyone)
    yield from (term.broker for history in report.groups for term in history.coordinators)
    yield from (topic_of(partition) for history in report.groups for partition in _partitions(history))
    yield from (name for identity in everyone for name in sorted(_names(identity)))


def _blocks(report: Report, name: str) -> Iterator[RenderableType]:
    for kind, facts in (("broker", _coordinated(report, name)), ("topic", _readers(report, name))):
        if facts:
            yield text_block(f"{kind} {name}", "bold")
            yield indented(labelled(facts))
    for history, identity in known(report, name):
        yield text_block(f"{identity.kind} {identity.name}", "bold")
        yield indented(labelled(_facts(history, identity)))


def _partitions(history: GroupHistory) -> Iterator[str]:
    yield from (partition for span in history.read for partition in span.partitions)
    yield from (partition for pause in history.pauses for partition in pause.partitions)


def _readers(report: Report, name: str) -> list[tuple[str, str]]:
    rows = []
    for history in report.groups:
        spans_by_member: dict[str, list[ReadSpan]] = defaultdict(list)
        for span in history.read:
            if any(topic_of(partition) == name for partition in span.partitions):
                spans_by_member[span.member].append(span)
        for member, spans in sorted(spans_by_member.items()):
            partitions = {partition for span in spans for partition in span.partitions if topic_of(partition) == name}
            ends = [span.ended_at for span in spans]
            until = None if None in ends else max(end for end in ends if end is not None)
            when = f"{utc(min(span.started_at for span in spans))} UTC {_until(until)}"
            rows.append((f"read by {member}", f"{in_ranges(partitions)}, in {group_of(history)}, {when}"))
        if not spans_by_member and any(topic_of(partition) == name for partition in _partitions(history)):
            rows.append(("read by", f"members of {group_of(history)}"))
    return _first(rows, READERS_SHOWN)


def _until(end: EpochMs | None) -> str:
    return "until the logs end" if end is None else f"to {utc(end)} UTC"


def _coordinated(report: Report, name: str) -> list[tuple[str, str]]:
    # A broker's role for these groups: brokers are not members of a group.
    rows = [
        (
            "coordinates",
            f"{group_of(history)} from {utc(term.started_at)} UTC {_until(term.ended_at)}",
        )
        for history in report.groups
        for term in history.coordinators
        if term.broker == name
    ]
    logs = [log for log in report.inputs if log.component == "broker" and log.host == name]
    rows += [("file", f"{log.path}, Kafka {log.kafka_version or 'of unknown release'}") for log in logs]
    return _first(rows, COORDINATED_SHOWN)


def _first(rows: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    return rows if len(rows) <= most else [*rows[:most], ("", f"and {len(rows) - most} more")]


def _places(history: GroupHistory, member: str) -> list[int]:
    return [
        place
        for place, generation in enumerate(history.generations)
        if any(m.member_id == member for m in generation.members)
    ]


def _when(history: GroupHistory, member: str) -> str:
    """`, generations 1-3, 02:04:01 to 02:04:58`: when a member id was in the group; empty if no generation lists it."""
    inside = _places(history, member)
    if not inside:
        return ""
    numbers = [history.generations[index].generation for index in inside]
    first, after = history.generations[inside[0]], history.generations[inside[-1] + 1 :]
    left = next((generation.started_at for generation in after if generation.started_at is not None), None)
    until = utc(left, "the end") if after else "the end"
    if not is_timed(first.started_at):
        return f", {numbered(numbers)}"
    return f", {numbered(numbers)}, {utc(first.started_at)} to {until}"


def _facts(history: GroupHistory, identity: Identity) -> Iterator[tuple[str, str]]:
    yield "group", group_of(history)
    single = (
        ("client id", identity.client_id),
        ("instance id", identity.instance_id),
        ("process", identity.process),
        ("thread", identity.thread),
        ("host", identity.host),
    )
    yield from ((label, value) for label, value in single if value)
    # By the first generation of each; those in none come last.
    first_seen = {
        member: min(_places(history, member), default=len(history.generations)) for member in identity.member_ids
    }
    yield from (
        ("member id" if index == 0 else "", f"{member}{_when(history, member)}")
        for index, member in enumerate(sorted(identity.member_ids, key=lambda member: (first_seen[member], member)))
    )
    yield from (("file" if index == 0 else "", path) for index, path in enumerate(identity.files))
    if identity.worker_clients:
        yield "own clients", f"{', '.join(identity.worker_clients)} (of its own topics; no members)"
    shown = {identity.name, *identity.member_ids, *identity.files, *identity.worker_clients}
    shown |= {value for _, value in single if value}
    others = [other for other in identity.names if other not in shown]
    if others:
        yield "also", ", ".join(others)
    if is_timed(identity.started_at) or is_timed(identity.ended_at):
        yield "seen", f"{utc(identity.started_at)} UTC {_until(identity.ended_at)}"
