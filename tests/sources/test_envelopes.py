"""Every envelope opens its sample, leaves its reject, and gives the records that were put into it."""

from __future__ import annotations

from types import ModuleType

import pytest

from rebalance_forensics.sources import envelopes
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.profiles.peeler import opened
from rebalance_forensics.sources.records.record_reader import parse_line

MODULES = envelopes.modules()
IDS = [module.__name__.rpartition(".")[2] for module in MODULES]


def test_there_are_envelopes() -> None:
    assert len(MODULES) > 20


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_an_envelope_holds_the_line_that_its_sample_wraps(module: ModuleType) -> None:
    assert [line.text for line in module.ENVELOPE.peel(Line(text=module.SAMPLE))] == [module.INSIDE]


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_a_sample_is_opened_without_knowing_what_it_is(module: ModuleType) -> None:
    inside = opened(Line(text=module.SAMPLE))
    assert [line.text for line in inside] == [module.INSIDE]
    assert inside[0].fields is None


@pytest.mark.parametrize("module", MODULES, ids=IDS)
def test_an_envelope_leaves_its_reject_to_others(module: ModuleType) -> None:
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    assert all(name not in line.envelopes for line in opened(Line(text=module.REJECT)))


def test_envelopes_are_peeled_one_after_another() -> None:
    record = parse_line(
        '{"log":"{\\"@timestamp\\":\\"2026-11-20T10:15:30.123Z\\",\\"message\\":\\"[Consumer clientId=c'
        ', groupId=g] (Re-)joining group\\",'
        '\\"logger_name\\":\\"o.a.k.ConsumerCoordinator\\",\\"level\\":\\"INFO\\"}\\n","stream":"stdout"'
        ',"time":"2026-11-20T10:15:30.2Z"}'
    )
    assert record.message == "[Consumer clientId=c, groupId=g] (Re-)joining group"
    assert record.at == 1795169730123
    assert record.level == "INFO"


def test_a_pasted_line_in_several_wrappings_is_still_read() -> None:
    record = parse_line(
        "# kafka1 | [2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g "
        "(kafka.coordinator.group.GroupCoordinator)"
    )
    assert record.message == "[GroupCoordinator 1]: Stabilized group g"
    assert record.host == "kafka1"


@pytest.mark.parametrize(
    "line",
    [
        (
            "[2026-11-20 10:15:30,123] INFO [MetadataLoader id=1] publish: done - soon "
            "(org.apache.kafka.image.loader.MetadataLoader)"
        ),
        (
            '{"@timestamp":"2026-11-20T10:15:30.123Z","message":"[Consumer clientId=c, groupId=g] joined"'
            ',"logger_name":"x.Y","level":"INFO"}'
        ),
        "2026-11-20 10:15:30.123  INFO 1 --- [main] o.a.k.c.c.i.ConsumerCoordinator : [Consumer clientId=c] a | b",
        (
            "10:15:30.123 [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - [Consumer clientId=c, groupId=g] "
            "(Re-)joining group"
        ),
    ],
)
def test_a_line_without_an_envelope_is_not_peeled(line: str) -> None:
    assert opened(Line(text=line))[0].envelopes == ()


@pytest.mark.parametrize(
    "prefix", ["stream-thread", "global-stream-thread", "stream-client", "standby-task", "state-updater"]
)
def test_what_streams_puts_before_a_name_is_no_host(prefix: str) -> None:
    line = f"{prefix} [app-1-StreamThread-1] State transition from RUNNING to PENDING_SHUTDOWN"
    assert [(inside.host, inside.text) for inside in opened(Line(text=line))] == [(None, line)]
