"""Kafka 0.9 and 0.10: what their clients do not do yet, and do not say, accuses nobody."""

from __future__ import annotations

from tests.story import Story

HEARTBEAT = "org.apache.kafka.clients.consumer.internals.AbstractCoordinator"


def slow_in_0_10_0() -> Story:
    """c-3 handles one batch for longer than its session lasts; its heartbeats wait for the next poll()."""
    story = Story(release=(0, 10)).formed("c-1", "c-2", "c-3")
    story.rebalanced("01:10:00.000", "", ["c-1", "c-2"])
    why = (
        "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another "
        "member. This means that the time between subsequent calls to poll() was longer than the configured "
        "session.timeout.ms, which typically implies that the poll loop is spending too much time message processing."
    )
    story.client("c-3", "01:10:30.000", f"Auto offset commit failed for group payments: {why}", level="WARN")
    return story.reborn("c-3").rebalanced("01:10:30.010", "", ["c-1", "c-2", "c-3"])


def test_before_kip_62_a_slow_loop_sends_no_heartbeat() -> None:
    incident = slow_in_0_10_0().the_incident()
    cause, rival = incident.root_causes[:2]
    assert (cause.cause, [c.name for c in cause.culprits]) == ("slow-processing", ["c-3"])
    assert "process-pause" in {rival.cause, *(d.cause for d in incident.root_causes)}
    assert cause.confidence < 0.75, "a process that stood still looks the same"


def test_settings_that_the_release_does_not_have_are_not_advised() -> None:
    cause = slow_in_0_10_0().the_incident().root_causes[0]
    sentences = [cause.narrative, *(f"{a.action} {a.why}" for a in cause.advice)]
    assert not [sentence for sentence in sentences if "max.poll.interval.ms" in sentence]


def test_a_client_that_joins_at_debug_is_not_blamed_for_not_joining() -> None:
    story = Story(release=(0, 9), seen="clients")
    rebalancing = "Attempt to heart beat failed since the group is rebalancing, try to re-join group."
    refused = "Attempt to join group payments failed due to unknown member id, resetting and retrying."
    for client in ("c-1", "c-2"):
        story.started(client, "01:00:00.000")
        for time, told in (("01:05", refused), ("01:10", rebalancing), ("01:20", rebalancing)):
            story.line(f"{client}/app.log", f"{time}:00.000", told, logger=HEARTBEAT)
    assert "rebalance-straggler" not in story.causes()
