"""What stands around a message may tell who runs it: threads, applications, MDC, fields of JSON."""

from __future__ import annotations

import pytest

from rebalance_forensics.pipeline.names_in_events import names_in_layouts

MESSAGE = "[Consumer clientId=a, groupId=g] (Re-)joining group"
KAFKAS = "o.a.k.c.c.internals.ConsumerCoordinator"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (f"2026-11-21 02:21:48.511  WARN 6 --- [d-detector-prod] {KAFKAS}  : {MESSAGE}", {"d-detector-prod"}),
        (f"2026-11-21 02:21:48.511  INFO 6 --- [billing] [ntainer#0-0-C-1] {KAFKAS} : {MESSAGE}", {"billing"}),
        (f"10:00:00.123 [acme-poller] INFO  {KAFKAS} - {MESSAGE}", {"acme-poller"}),
        (f"2026-11-21 02:21:48,511 INFO user=bob tenant=zebra [main] {KAFKAS} - {MESSAGE}", {"bob", "zebra"}),
        (f'ts=2026-11-21T02:21:48.511Z level=info app=billing msg="{MESSAGE}" logger=org.apache.kafka.X', {"billing"}),
        (
            '{"@timestamp":"2026-11-21T02:21:48.511Z","message":"Joining","thread_name":"poller","mdc":{"user":"bob"}}',
            {"poller", "bob"},
        ),
        (f"[2026-11-21 02:21:48,511] INFO {MESSAGE} (org.apache.kafka.X)", set()),
    ],
)
def test_names_around_a_message(line: str, names: set[str]) -> None:
    assert {name for name, _ in names_in_layouts([line])} == names
