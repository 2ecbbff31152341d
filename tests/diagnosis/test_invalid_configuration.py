"""Clients whose own settings JoinGroup does not accept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.other_clients import causes, incidents, kafka_go, rdkafka

OUTSIDE = "its session.timeout.ms is outside the range that the broker allows"
EMPTY = "its group.id is empty or not valid"
JAVA = (
    "2026-03-01 01:10:00,112 ERROR [Consumer clientId=c-1, groupId=payments] Attempt to join group failed due to fatal "
    "error: The session timeout is not within the range allowed by the broker (as configured by "
    "group.min.session.timeout.ms and group.max.session.timeout.ms). (o.a.k.c.c.i.AbstractCoordinator)"
)
RDKAFKA = "b1:9093/0: JoinGroupRequest failed: Broker: Invalid session timeout: actions Permanent"
KAFKA_GO = (
    "Failed to join group payments: [26] Invalid Session Timeout: the requested session timeout is outside of the "
    "allowed range on the broker"
)
PYTHON = (
    "2026-03-01 01:10:00,112 - kafka.coordinator - ERROR - Attempt to join group payments failed due to fatal error: "
    "[Error 24] InvalidGroupIdError"
)


@pytest.mark.parametrize(
    ("line", "fault"),
    [(JAVA, OUTSIDE), (rdkafka(0, "REQERR", RDKAFKA), OUTSIDE), (kafka_go(10, KAFKA_GO), OUTSIDE), (PYTHON, EMPTY)],
)
def test_a_client_with_a_setting_that_the_coordinator_refuses_cannot_join(
    tmp_path: Path, line: str, fault: str
) -> None:
    (incident,) = incidents(tmp_path, line)
    assert incident.root_causes[0].cause == "invalid-configuration"
    assert fault in incident.root_causes[0].narrative


def test_a_group_that_is_full_refuses_whatever_its_settings_are(tmp_path: Path) -> None:
    line = (
        "2026-03-01 01:10:00,112 ERROR [Consumer clientId=c-1, groupId=payments] JoinGroup failed due to fatal error: "
        "The consumer group has reached its max size. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
    )
    assert causes(incidents(tmp_path, line)) == ["group-max-size"]
