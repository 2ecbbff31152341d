from __future__ import annotations

from tests.diagnosis.closings import comes
from tests.story import Story

CLASSIC = "org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer"


def intruded(topic: str) -> Story:
    story = Story()
    for client in ("pay-1", "pay-2"):
        story.client(client, "00:59:59.000", "Subscribed to topic(s): orders", logger=CLASSIC)
    story.formed("pay-1", "pay-2")
    story.client("export-1", "01:09:59.000", f"Subscribed to topic(s): {topic}", logger=CLASSIC)
    return comes(story, "export-1", "01:10:00.000", ["pay-1", "pay-2", "export-1"])


def test_another_application_with_other_topics_intrudes() -> None:
    story = intruded("invoices")
    assert story.causes() == ["shared-group-id"]
    assert story.blamed() == ["export-1"]
    assert story.the_incident().severity == "warning"


def test_a_newcomer_with_the_same_topics_belongs_there() -> None:
    assert "shared-group-id" not in intruded("orders").causes()
