"""KafkaJS through a logger of the application: words first, its facts behind them."""

from __future__ import annotations

import pytest

from rebalance_forensics.sources.layouts import parse

FACTS = '{"timestamp":"2026-03-01T01:10:00.900Z","logger":"kafkajs","groupId":"payments"}'
INCOMPATIBLE = "The group member's supported protocols are incompatible with those of existing members"
REFUSED = (
    '{"timestamp":"2026-03-01T01:10:00.900Z","logger":"kafkajs","clientId":"shop",' + f'"error":"{INCOMPATIBLE}"' + "}"
)


STARTING = f"INFO 5 (log.js:27) INFO [Consumer] Starting: {FACTS}"
ANSWER = (
    f"ERROR 5 (log.js:27:create) ERROR [Connection] Response JoinGroup(key: 11, version: 2): {REFUSED} CallStack:    "
    "at create (/app/log.js:27:36)"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (STARTING, "[Consumer] Starting; groupId: payments"),
        (ANSWER, "[Connection] Response JoinGroup(key: 11, version: 2); error: " + INCOMPATIBLE + ", clientId: shop"),
    ],
)
def test_kafkajs_facts_after_a_colon_belong_to_its_message(line: str, message: str) -> None:
    found = parse(f"2026-03-01T01:10:00.901Z {line}")
    assert found is not None
    assert (found[1].message, found[1].logger) == (message, "kafkajs")


def test_another_loggers_facts_stay_as_they_are() -> None:
    found = parse(f"2026-03-01T01:10:00.901Z INFO [Orders] stored: {FACTS.replace('kafkajs', 'orders')}")
    assert found is not None
    assert found[1].message.endswith("}")


def test_the_number_of_a_fluentd_worker_is_no_part_of_what_ruby_kafka_says() -> None:
    found = parse("2026-03-01 01:10:00 +0000 [error]: #2 Connection error while trying to join group `payments`")
    assert found is not None
    assert (found[1].thread, found[1].message) == ("#2", "Connection error while trying to join group `payments`")
