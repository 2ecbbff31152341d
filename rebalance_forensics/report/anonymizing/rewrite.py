"""Collects every name in a report by kind and rewrites every text; our own terms (causes, kinds, states) stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.report.anonymizing.pseudonyms import Pseudonyms
from rebalance_forensics.report.anonymizing.texts import NOT_NAMES, scrubbed, setting_without_names
from rebalance_forensics.report.lazy_list import LazyList
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.wording import UNNAMED_CLUSTERS
from rebalance_forensics.timeline.identity.names import topic_and_number
from rebalance_forensics.timeline.model import GroupHistory, Identity, Span

Part = TypeVar("Part", bound=Struct)

# Fields with our own or Kafka's terms, never a user's.
OWN_FIELDS = frozenset({
    *("tool_version", "component", "kafka_version", "layout", "envelope", "zone", "kind", "protocol", "rebalance_mode"),
    *("outcome", "trigger", "followup", "followups", "severity", "id", "cause", "jira", "title", "fixed_in"),
    *("ids", "api", "error", "setting", "sign", "answer", "weighs", "between"),
})  # fmt: skip
LOG_FIELDS = frozenset({"text", "label", "reason"})
# Labels of lane segments in our own terms ("out of the group: closed").
OURS = "label of a stretch"
IMPRECISE_KINDS = frozenset({"name", "thread"})
PATH_FIELDS = frozenset({"path", "files"})
ENDINGS = re.compile(r"((?:\.(?:log|gz|txt|json|out|zst|xz|bz2|lz4|tgz|tar|zip|\d+))*)$")


def anonymized(report: Report, also: Iterable[Named] = ()) -> Report:
    """Replace every group, topic, host, address and id by a pseudonym; `also` are names that only log lines contain."""
    read = {log.path for log in report.inputs}
    in_lines = [(name, kind) for name, kind in also if name not in NOT_NAMES]
    # An event knows best what its fields name; a word around a message may be anything.
    precise = [*groups_of(report), *(named for named in in_lines if named[1] not in IMPRECISE_KINDS)]
    found = dict.fromkeys(named for named in (*precise, *names_of(report), *in_lines) if named[0] not in read)
    names = Pseudonyms(real=frozenset(name for name, _ in found))
    for name, kind in found:
        names.of(name, kind)
    # Last, so that a directory that is called like a client or a host gets that one's pseudonym.
    paths = {log.path: _path(log.path, names) for log in report.inputs}
    # Once to learn the names that log lines give away, once more for the texts that stood before them.
    _rewritten(report, names, paths)
    names.texts.clear()
    return _rewritten(report, names, paths)


def _rewritten(part: Part, names: Pseudonyms, paths: dict[str, str]) -> Part:
    changes: dict[str, Any] = {
        name: _changed(getattr(part, name), OURS if name == "label" and isinstance(part, Span) else name, names, paths)
        for name in part.__struct_fields__
        if name not in OWN_FIELDS
    }
    return replace(part, **changes)


def _changed(value: object, field: str, names: Pseudonyms, paths: dict[str, str]) -> object:
    if isinstance(value, Struct):
        return _rewritten(value, names, paths)
    if isinstance(value, (tuple, LazyList)):
        if field == "settings":
            return tuple((key, _setting(setting, names)) for key, setting in value)
        return tuple(_changed(part, field, names, paths) for part in value)
    return _text(value, field, names, paths) if isinstance(value, str) else value


def _text(text: str, field: str, names: Pseudonyms, paths: dict[str, str]) -> str:
    if text in paths:
        return paths[text]
    if field in PATH_FIELDS:
        return paths.setdefault(text, _path(text, names))
    if text in names.given:
        return names.given[text]
    key = (text, field in LOG_FIELDS)
    if key not in names.texts:
        names.texts[key] = _sentence(text, paths, names, ours=field not in LOG_FIELDS)
    return names.texts[key]


def _sentence(text: str, paths: dict[str, str], names: Pseudonyms, *, ours: bool) -> str:
    for path, pseudonym in paths.items() if ours else ():
        # Only where it stands by itself: a log may be called `a`, or `-`, which is a part of many a name.
        if path in text:
            text = re.sub(rf"(?<![\w./-]){re.escape(path)}(?![\w-])", pseudonym, text)
    return scrubbed(text, names, ours=ours)


def _setting(setting: str, names: Pseudonyms) -> str:
    return names.given.get(setting) or scrubbed(setting_without_names(names.literally(setting), names), names)


def _path(path: str, names: Pseudonyms) -> str:
    if path == "-":
        return path
    *directories, name = path.split("/")
    ending = cast("re.Match[str]", ENDINGS.search(name)).group(1)
    stem = name[: len(name) - len(ending)]
    parts = [names.of(directory, "directory") if directory.strip("!.") else directory for directory in directories]
    return "/".join([*parts, names.of(stem, "file") + ending])


Named = tuple[str, str]


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
    yield from ((topic, "topic") for topic, number in map(topic_and_number, sorted(partitions)) if number is not None)
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
    # Drop the slash that Java prints before an address.
    return host.rpartition("/")[2] if host else None


def _kind(name: str, kind: str) -> str:
    return "file" if "/" in name or name.endswith((".log", ".gz", ".txt", ".json", ".out")) else kind
