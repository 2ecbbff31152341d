"""Who goes by a name: every identity it had over time."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from rebalance_forensics.report.model import Report
from rebalance_forensics.report.near_names import near_names
from rebalance_forensics.report.terminal.rich_blocks import indented, labelled, printed, said
from rebalance_forensics.report.times import utc
from rebalance_forensics.report.wording import group_of
from rebalance_forensics.timeline.model import GroupHistory, Identity

SUGGESTIONS = 10
COORDINATED_SHOWN = 20


def render_whois(report: Report, name: str, *, width: int = 80, color: bool = False) -> str:
    """List every identity that has the name, exactly or, where none has, as a part of one of its names."""
    return printed(_blocks(report, name), width=width, color=color)


def known(report: Report, name: str) -> list[tuple[GroupHistory, Identity]]:
    """Find the identities a name stands for, in the order of the report."""
    everyone = [(history, one) for history in report.groups for one in history.identities]
    exactly = [(history, one) for history, one in everyone if name in _names(one)]
    # A path as a shell completes it begins before the directory that was analyzed.
    exactly = exactly or [pair for pair in everyone if any(name.endswith(f"/{file}") for file in pair[1].files)]
    wanted = name.casefold()
    return exactly or [pair for pair in everyone if any(wanted in other.casefold() for other in _names(pair[1]))]


def _names(one: Identity) -> set[str]:
    given = (one.name, one.client_id, one.instance_id, one.process, one.thread, one.host)
    return {*one.names, *one.member_ids, *one.files, *(name for name in given if name)}


def _blocks(report: Report, name: str) -> Iterator[RenderableType]:
    found = known(report, name)
    coordinated = _coordinated(report, name)
    if coordinated:
        yield said(f"broker {name}", "bold")
        yield indented(labelled(coordinated))
    elif not found:
        yield said(f"Nobody in these logs is called {name}.")
        everyone = [one for history in report.groups for one in history.identities]
        if near := near_names(name, [other for one in everyone for other in (one.name, *sorted(_names(one)))]):
            yield said(f"Did you mean {' or '.join(near)}?")
        names = list(dict.fromkeys(one.name for one in everyone))
        if names:
            more = f" and {len(names) - SUGGESTIONS} more" if len(names) > SUGGESTIONS else ""
            yield said(f"Known names: {', '.join(names[:SUGGESTIONS])}{more}.")
    for history, one in found:
        yield said(f"{one.kind} {one.name}", "bold")
        yield indented(labelled(_facts(history, one)))


def _coordinated(report: Report, name: str) -> list[tuple[str, str]]:
    """What a broker is to these groups, where it is asked for: it is nobody's member."""
    told = [
        (
            "coordinates",
            f"{group_of(history)} from {utc(term.started_at)} to {utc(term.ended_at, 'the end of the logs')}",
        )
        for history in report.groups
        for term in history.coordinators
        if term.broker == name
    ]
    logs = [one for one in report.inputs if one.component == "broker" and one.host == name]
    told += [("file", f"{one.path}, Kafka {one.kafka_version or 'of unknown release'}") for one in logs]
    more = len(told) - COORDINATED_SHOWN
    return [*told[:COORDINATED_SHOWN], *([("", f"and {more} more")] if more > 0 else [])]


def _facts(history: GroupHistory, one: Identity) -> Iterator[tuple[str, str]]:
    yield "group", group_of(history)
    single = (
        ("client id", one.client_id),
        ("instance id", one.instance_id),
        ("process", one.process),
        ("thread", one.thread),
        ("host", one.host),
    )
    yield from ((label, value) for label, value in single if value)
    yield from (("member id" if index == 0 else "", member) for index, member in enumerate(one.member_ids))
    yield from (("file" if index == 0 else "", path) for index, path in enumerate(one.files))
    shown = {one.name, *one.member_ids, *one.files, *(value for _, value in single if value)}
    others = [other for other in one.names if other not in shown]
    if others:
        yield "also", ", ".join(others)
    if one.started_at is not None or one.ended_at is not None:
        yield "seen", f"{utc(one.started_at)} to {utc(one.ended_at, 'the end of the logs')} UTC"
