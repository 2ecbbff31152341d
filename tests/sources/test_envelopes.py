"""Every file of sources/envelopes opens its samples, gives the lines that were put into it, and leaves its rejects."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rebalance_forensics.sources import envelopes
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.layouts.definitions import Sample
from rebalance_forensics.sources.profiles.peeler import opened
from rebalance_forensics.sources.records.record_reader import parse_line
from tests.sources.test_layouts import written

SAMPLES = [(name, sample) for name, file in envelopes.definitions().items() for sample in file.samples]
REJECTS = [(name, line) for name, file in envelopes.definitions().items() for line in file.rejects]


def fields_of(line: Line) -> dict[str, str]:
    """Everything that the envelope gave, named as in the samples."""
    named = {
        "time": None
        if line.at is None
        else datetime.fromtimestamp(line.at / 1000, UTC).isoformat(timespec="milliseconds"),
        "local": line.local and written(line.local),
        "host": line.host,
        "stream": line.stream,
        "text": line.text,
    }
    return {name: text.replace("+00:00", "Z") for name, text in named.items() if text}


def test_each_envelope_has_samples_and_rejects() -> None:
    assert len(envelopes.definitions()) > 20
    assert not [name for name, file in envelopes.definitions().items() if not (file.samples and file.rejects)]


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_an_envelope_holds_the_line_that_its_sample_wraps(name: str, sample: Sample) -> None:
    inside = envelopes.by_name()[name].peel(Line(text=sample.line))
    assert inside is not None
    assert [line.text for line in inside] == [sample.fields["text"]]


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_a_sample_is_opened_by_its_envelope_and_yields_exactly_its_fields(name: str, sample: Sample) -> None:
    (line,) = opened(Line(text=sample.line))
    assert (line.envelopes, fields_of(line)) == ((name,), dict(sample.fields))
    assert line.fields is None


@pytest.mark.parametrize(("name", "reject"), REJECTS)
def test_an_envelope_leaves_its_reject_to_others(name: str, reject: str) -> None:
    assert all(name not in line.envelopes for line in opened(Line(text=reject)))


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
