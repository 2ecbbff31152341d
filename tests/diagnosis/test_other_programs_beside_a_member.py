"""Programs that write beside a member: their own Kafka clients may be refused what the member may do."""

from __future__ import annotations

import pytest

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
