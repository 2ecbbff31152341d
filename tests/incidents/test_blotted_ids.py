"""Member ids of which somebody blotted out what is drawn by lot: those of one client are all alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from tests.incidents.sample import LOCAL

AT = "(kafka.coordinator.group.GroupCoordinator)"
CLIENT = "[Consumer clientId=c-1, groupId=orders]"
AT_THE_CLIENT = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
OLD_ID = "it used its old member id again, which only the same process knows"
BROKER_LOG = f"""\
[2026-03-01 10:00:20,100] INFO [GroupCoordinator 1]: Member c-1-{{id}} in group orders has failed, removing it from \
the group {AT}
[2026-03-01 10:00:20,101] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state PreparingRebalance \
with old generation 2 (__consumer_offsets-4) (reason: removing member c-1-{{id}} on heartbeat expiration) {AT}
[2026-03-01 10:00:20,400] INFO [GroupCoordinator 1]: Stabilized group orders generation 3 (__consumer_offsets-4) with \
1 members {AT}
"""
CLIENT_LOG = f"""\
[2026-03-01 10:00:01,000] INFO {CLIENT} Successfully joined group with generation Generation{{{{generationId=2, \
memberId='c-1-{{id}}', protocol='range'}}}} {AT_THE_CLIENT}
[2026-03-01 10:00:25,000] INFO {CLIENT} Request joining group due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT \
response {AT_THE_CLIENT}
[2026-03-01 10:00:25,010] INFO {CLIENT} Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from \
HEARTBEAT response {AT_THE_CLIENT}
[2026-03-01 10:00:25,020] INFO {CLIENT} Successfully joined group with generation Generation{{{{generationId=4, \
memberId='c-1-{{id}}', protocol='range'}}}} {AT_THE_CLIENT}
"""


def signs_of(member_id: str, directory: Path) -> set[str]:
    """The signs that a coordinator's log and a client's show, with the member id written this way."""
    (directory / "server.log").write_text(BROKER_LOG.format(id=member_id))
    (directory / "app.log").write_text(CLIENT_LOG.format(id=member_id))
    incidents = analyze([str(directory)], LOCAL).incidents
    return {sign.says for incident in incidents for sign in incident.signs if sign.answer == "present"}


def test_a_member_id_used_again_shows_that_the_process_is_the_same(tmp_path: Path) -> None:
    assert OLD_ID in signs_of("b95f8df7-c642-4431-87da-0934f46676eb", tmp_path)


@pytest.mark.parametrize("blot", ["***", "<uuid>", "REDACTED"])
def test_a_blotted_member_id_does_not_show_that_the_process_is_the_same(blot: str, tmp_path: Path) -> None:
    assert OLD_ID not in signs_of(blot, tmp_path)
