"""Programs that write beside a member: their own Kafka clients may be refused what the member may do."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.closings import closes
from tests.story import Story

REFUSALS = (
    "lag_exporter cannot read offsets: Broker: Group authorization failed",
    "cannot describe fraud: GROUP_AUTHORIZATION_FAILED: Not authorized to access group: Group authorization failed.",
    (
        "KafkaJSProtocolError: The consumer group has reached its max size. It already has the configured maximum "
        "number of members"
    ),
    "audit-tail failed: KafkaJSProtocolError: The coordinator is not aware of this member",
    "report.rb died: Kafka::InconsistentGroupProtocol",
)


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("log", ["c-1/lag-exporter.log", "c-1/app.log"])
def test_what_another_programs_client_is_refused_says_nothing_of_a_java_member(refusal: str, log: str) -> None:
    story = Story().formed("c-1", "c-2")
    before = [(i.root_causes[0].cause, i.severity) for i in story.incidents()]
    story.line(log, "01:30:00.000", refusal, logger="audit")
    assert [(i.root_causes[0].cause, i.severity) for i in story.incidents()] == before


ERRORS = "org.apache.kafka.common.errors."
THROWN = (
    f"{ERRORS}TopicAuthorizationException: Not authorized to access topics: [audit]",
    f"{ERRORS}GroupAuthorizationException: Group authorization failed.",
    (
        f"{ERRORS}InconsistentGroupProtocolException: The group member's supported protocols are incompatible with "
        "those of existing members or first group member tried to join with empty protocol type or empty protocol list."
    ),
    f"{ERRORS}SaslAuthenticationException: Authentication failed during authentication due to invalid credentials",
    (
        f"{ERRORS}FencedInstanceIdException: The broker rejected this static consumer since another consumer with the "
        "same group.instance.id has registered with a different member.id."
    ),
    (
        f"{ERRORS}GroupMaxSizeReachedException: Consumer group archive already has the configured maximum number of "
        "members."
    ),
    f"{ERRORS}UnknownMemberIdException: The coordinator is not aware of this member.",
    f"{ERRORS}NotCoordinatorException: This is not the correct coordinator.",
    "Broker: Unknown member",
    "kafka.errors.IllegalGenerationError: [Error 22] IllegalGenerationError",
)
FRAME = "\n\tat com.acme.Archive.forward(Archive.java:44)"
WORDINGS = (
    "forwarding failed: {}",
    f"forwarding failed\n{{}}{FRAME}",
    f"forwarding failed\njava.lang.RuntimeException: no archive{FRAME}\nCaused by: {{}}",
)


def with_exception(text: str) -> Story:
    """A healthy group, and an exception that com.acme.Archive logs beside its first member."""
    story = Story().formed("c-1", "c-2")
    return story.line("c-1/app.log", "01:30:00.000", text, level="ERROR", logger="com.acme.Archive")


@pytest.mark.parametrize("thrown", THROWN)
def test_what_kafka_threw_at_another_client_is_laid_at_no_member_that_stays_in_its_group(thrown: str) -> None:
    for wording in WORDINGS:
        sure = [i.root_causes[0] for i in with_exception(wording.format(thrown)).incidents()]
        assert [c.cause for c in sure if (c.confidence or 0) >= 0.75] in ([], ["startup"])


@pytest.mark.parametrize("thrown", THROWN[1:3])
def test_what_kafka_threw_is_laid_at_the_member_that_closes_right_after_it(thrown: str) -> None:
    for wording in WORDINGS:
        story = closes(with_exception(wording.format(thrown)), "c-1", "01:30:00.500", ["c-2"])
        assert story.incidents()[-1].root_causes[0].culprits[0].name == "c-1"
        assert story.causes() in (["authorization-failure"], ["inconsistent-protocol"])


def test_what_kafka_threw_on_a_members_own_thread_is_laid_at_it() -> None:
    story = with_exception(WORDINGS[1].format(THROWN[1]))
    on_main = [replace(e, speaker=replace(e.speaker, thread="main")) for e in story.events if e.speaker.host == "c-1"]
    story.events = [e for e in story.events if e.speaker.host != "c-1"] + on_main
    assert story.causes() == ["authorization-failure"]


@pytest.mark.parametrize("words", ["could not describe group billing", "admin: list offsets failed", "reading the lag"])
def test_what_an_administrators_request_was_answered_makes_no_group(tmp_path: Path, words: str) -> None:
    line = '{"level":"error","time":"2026-11-20T10:15:30Z","msg":"%s","error":"Broker: Group authorization failed"}\n'
    (tmp_path / "app.log").write_text(line % words + line % "could not consume")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert [e.line for e in incident.root_causes[0].evidence] == [2]
