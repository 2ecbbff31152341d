"""The law of dialects: the same facts in another client's words have the same cause, or a less certain one.

A sample's facts are written as another client would have logged them, without what it does not log; the brokers' logs
stay as they are, or are left away. Never is another cause 75 % sure. Where Java's own log, cut down to these facts,
still shows the cause, the other client's log shows it as well.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
import yaml

from rebalance_forensics.events.dialects import never_happens, unlogged
from tests.rewording import KNOWN, LAYOUTS, Level, reworded
from tests.stretching import ClusterLogs, cluster_logs_in

SAMPLES = Path(__file__).parents[2] / "sample_logs"
SURE = 0.75
A_MINUTE = 60_000
View = Literal["everything", "clients"]
JAVAS_OWN = {
    "connect-config-change",
    "probing-loop",
    "streams-endpoint-change",
    "streams-shutdown",
    "thread-replacement",
}
"""Connect and Streams: no other client is one of them."""
ONE_FILE = {"scale-in", "static-member-expired"}
"""The logs of brokers and clients in one export."""
NEEDS = {
    "slow-processing": "poll timeout",
    "static-member-fenced": "commit refused: FENCED_INSTANCE_ID",
    "static-member-restart": "commit refused: FENCED_INSTANCE_ID",
}
"""What a sample is about, and cannot happen to a client that has no such step."""
NAMES = sorted(p.name for p in SAMPLES.iterdir() if p.is_dir() and p.name not in JAVAS_OWN | ONE_FILE)
CLIENTS = [client for client in KNOWN.clients if client.name in LAYOUTS]
VIEWS: tuple[tuple[Level, View], ...] = (
    ("INFO", "everything"), ("DEBUG", "everything"), ("INFO", "clients"), ("DEBUG", "clients"),
)  # fmt: skip


class Verdict(NamedTuple):
    """An incident as far as the law compares it."""

    cause: str
    confidence: float
    begin: int
    end: int
    culprits: tuple[str, ...]


class Case(NamedTuple):
    """A sample in a client's words."""

    sample: str
    client: str
    level: Level
    view: View


def cases() -> Iterator[Case]:
    for sample in NAMES:
        for client in CLIENTS:
            if sample not in NEEDS or not never_happens(client.name, NEEDS[sample]):
                for level, view in VIEWS:
                    yield Case(sample, client.name, level, view)


def shown() -> Iterator[object]:
    for case in cases():
        marks = [] if is_drawn(case) else [pytest.mark.long]
        yield pytest.param(case, id="-".join(case), marks=marks)


def is_drawn(case: Case) -> bool:
    """One case in eight, where not all are asked for: each sample with every second client, the views in turn."""
    # Java's own eras come first among the clients.
    eras = sum(client.name.startswith("Java") for client in CLIENTS)
    turn = NAMES.index(case.sample) + [client.name for client in CLIENTS].index(case.client) - eras
    return turn % 2 == 0 and VIEWS[turn // 2 % len(VIEWS)] == (case.level, case.view)


@cache
def expected_of(name: str) -> Mapping[str, Any]:
    """What a sample's incident.yaml says must be found."""
    expected: Mapping[str, Any] = yaml.safe_load((SAMPLES / name / "incident.yaml").read_text(encoding="utf-8"))[
        "expected"
    ]
    return expected


@cache
def sure_of_another() -> Mapping[Case, set[str]]:
    """What another client's log is sure of instead, as its sample says with the reason, or with what it never logs."""
    found: dict[Case, set[str]] = {}
    for case in cases():
        for row in expected_of(case.sample).get("other_clients", ()):
            silent = case.client in row["clients"] if "clients" in row else leaves_out(case, row["fact"])
            if silent and row.get("view", case.view) == case.view:
                found.setdefault(case, set()).update(row["sure_of"])
    return found


def leaves_out(case: Case, fact: str) -> bool:
    """No release of the client logs the fact at that level."""
    silent = [silence for silence in unlogged(case.client, fact) if silence.of_all_releases]
    return any(silence.level != "INFO" or case.level == "INFO" for silence in silent)


@cache
def sample_of(name: str) -> tuple[ClusterLogs, str, str]:
    """A sample's events, its group and its cause."""
    expected = expected_of(name)
    (logs,) = cluster_logs_in(SAMPLES / name)
    return logs, expected["group"], expected["cause"]


def of_clients(logs: ClusterLogs) -> ClusterLogs:
    return replace(
        logs,
        events=tuple(event for event in logs.events if event.speaker.role != "broker"),
        spans=tuple(span for span in logs.spans if not span.path.startswith("broker")),
    )


def in_view(logs: ClusterLogs, view: View) -> ClusterLogs:
    return of_clients(logs) if view == "clients" else logs


@cache
def as_java(sample: str, view: View) -> tuple[Verdict, ...]:
    logs, group, _ = sample_of(sample)
    return verdicts([in_view(logs, view)], group)


def verdicts(logs: Sequence[ClusterLogs], group: str) -> tuple[Verdict, ...]:
    cases = chain.from_iterable(each.reported_cases() for each in logs)
    found = (i for case in cases if case.history.group == group or case.from_unnamed for i in case.incidents)
    return tuple(
        Verdict(
            (first := i.root_causes[0]).cause,
            first.confidence,
            i.started_at,
            i.ended_at or i.started_at,
            tuple(culprit.name for culprit in first.culprits if culprit.kind == "client"),
        )
        for i in found
    )


def main_cause(sample: str, view: View) -> str | None:
    """The sample's cause where Java's log shows it from here, else what it shows instead."""
    causes = [verdict.cause for verdict in as_java(sample, view)]
    cause = sample_of(sample)[2]
    return cause if cause in causes else None


def refuted(verdict: Verdict, sample: str, view: View) -> bool:
    """Sure of a cause that Java's log shows for nothing at that time."""
    if verdict.confidence < SURE or verdict.cause == "unexplained":
        return False
    known = {*as_java(sample, view), *as_java(sample, "everything")}
    near = [v for v in known if v.begin - A_MINUTE <= verdict.end and verdict.begin - A_MINUTE <= v.end]
    return verdict.cause not in {v.cause for v in near}


def rewritten(case: Case, to: Path) -> tuple[list[ClusterLogs], ClusterLogs]:
    """The sample in the client's words, and Java's events with no more in them."""
    logs, group, _ = sample_of(case.sample)
    client = next(client for client in CLIENTS if client.name == case.client)
    left = reworded(logs, SAMPLES / case.sample, to, client, case.level, group)
    (to / "incident.yaml").unlink(missing_ok=True)
    for directory in [d for d in to.iterdir() if d.name.startswith("broker") and case.view == "clients"]:
        shutil.rmtree(directory)
    return cluster_logs_in(to), in_view(left, case.view)


@pytest.mark.parametrize("case", [*shown()])
def test_another_clients_words_have_the_same_cause_or_a_less_certain_one(case: Case, tmp_path: Path) -> None:
    logs, left = rewritten(case, tmp_path)
    group = sample_of(case.sample)[1]
    found = verdicts(logs, group)
    wrong = [v.cause for v in found if refuted(v, case.sample, case.view)]
    assert set(wrong) <= sure_of_another().get(case, set()), (
        "its log is sure of a neighbour: a sign is missing, or `other_clients` of incident.yaml has to say so"
    )
    assert {name for verdict in found for name in verdict.culprits} & names_instead_of_client_ids(logs) == set()
    main = main_cause(case.sample, case.view)
    if main is None or main in {v.cause for v in found} or not is_named(logs, group) or unread(case):
        return
    assert main not in {v.cause for v in verdicts([left], group)}


def names_instead_of_client_ids(logs: Sequence[ClusterLogs]) -> set[str]:
    """The files and member ids of consumers whose client id a line of their own shows."""
    own = [e for each in logs for e in each.events if e.speaker.client_id and e.speaker.role != "broker"]
    members = {getattr(e, "member", None) for e in own} - {None}
    return {*(e.origin.path for e in own), *(e.origin.path.partition("/")[0] for e in own), *map(str, members)}


def is_named(logs: Sequence[ClusterLogs], group: str) -> bool:
    """A line names the group; librdkafka without debug names it nowhere."""
    return any(event.group == group for each in logs for event in each.events)


def unread(case: Case) -> bool:
    return (case.sample, case.client, case.view) in UNREAD or case in sure_of_another()


_NO_GENERATION = "it prints no generation (consumerGroup.js, join; consumer_group.rb, join_group), as Java's line does"
_A_PROCESS = "it prints a process of Erlang for a member, and no member id (brod_group_coordinator.erl, log)"
_NO_BROKER = "it names no broker that it lost (consumer_group_session.go, heartbeatLoop; brod_group_coordinator.erl)"
_BOTH: tuple[View, ...] = ("everything", "clients")
_STICKY = "it balances by cooperative-sticky, which may give one member all of a topic that others read as well"
UNREAD: dict[tuple[str, str, View], str] = {
    **{("shared-group-id", "franz-go", view): _STICKY for view in _BOTH},
    **{(sample, "KafkaJS", "clients"): _NO_GENERATION for sample in ("subscription-change", "topic-metadata-change")},
    **{(("startup", client, "clients")): _NO_GENERATION for client in ("KafkaJS", "ruby-kafka")},
    **{
        (sample, "brod", "clients"): _A_PROCESS
        for sample in (
            "coordinator-failover",
            "shutdown",
            "shared-group-id",
            "subscription-change",
            "topic-metadata-change",
            "unsubscribe",
        )
    },
    (
        "offsets-topic-unavailable",
        "brod",
        "clients",
    ): "one line for a refused join and a refused sync (brod_group_coordinator.erl, do_stabilize)",
    (
        "unsubscribe",
        "KafkaJS",
        "everything",
    ): "it logs one line for every end of a consumer (consumer/index.js, stop), which is read as its closing",
    **{
        ("process-pause", "KafkaJS", view): "a slow handler holds its heartbeats up as a pause does (runner.js)"
        for view in _BOTH
    },
    **{("network-partition", client, "everything"): _NO_BROKER for client in ("Sarama", "brod")},
}
"""Where a client prints less of a fact than Java's own line, which the law cannot cut down."""


def test_an_exception_is_named_only_where_it_is_needed() -> None:
    known = {(case.sample, case.client, case.view) for case in cases()}
    assert {*UNREAD} <= known
    facts, clients = {fact.name for fact in KNOWN.facts}, {client.name for client in CLIENTS}
    for row in (row for name in NAMES for row in expected_of(name).get("other_clients", ())):
        assert ("clients" in row) != ("fact" in row)
        assert {*row.get("clients", ())} <= clients
        assert {row.get("fact")} - {None} <= facts
