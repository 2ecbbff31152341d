from __future__ import annotations

import pytest

from rebalance_forensics.timeline.model import Protocol
from rebalance_forensics.timeline.timeouts import session_of_events
from tests.story import Story

CONFIG = "kafka.server.KafkaConfig"


@pytest.mark.parametrize("protocol", ["consumer", "share", "streams"])
def test_a_broker_prints_how_long_the_sessions_of_its_groups_are(protocol: Protocol) -> None:
    """Since KIP-848 the brokers set it, for each protocol on its own."""
    story = Story(release=(4, 2))
    values = f"\n\tgroup.{protocol}.session.timeout.ms = 10000\n\tgroup.max.size = 50"
    story.broker("01:00:00.000", f"KafkaConfig values: {values}\n", logger=CONFIG)
    timeline = story.goes_on("01:01:00.000").timeline()
    assert session_of_events(timeline.group_events, protocol, timeline.settings) == 10_000
