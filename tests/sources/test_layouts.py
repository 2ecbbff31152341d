"""Every file of sources/layouts reads its samples, claims them when all are asked, and leaves its rejects."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.definitions import Sample
from rebalance_forensics.sources.times.timestamps import Stamp

SAMPLES = [(name, sample) for name, file in layouts.definitions().items() for sample in file.samples]
REJECTS = [(name, line) for name, file in layouts.definitions().items() for line in file.rejects]


def written(stamp: Stamp) -> str:
    """A time as far as the text has it: without a date, without a year, with its zone."""
    at = (datetime(1970, 1, 1) + timedelta(milliseconds=stamp.local_ms)).isoformat(timespec="milliseconds")  # noqa: DTZ001
    if stamp.form != "full":
        return at[len("1970-01-01T") :] if stamp.form == "time-only" else at[len("1970-") :]
    minutes = stamp.offset_minutes
    return at if minutes is None else f"{at}{minutes // 60:+03}:{minutes % 60:02}" if minutes else f"{at}Z"


def fields_of(parsed: Parsed) -> dict[str, str]:
    """Everything that was read, named as in the samples."""
    time = written(parsed.stamp) if parsed.stamp else None
    named = {"time": time} | {name: getattr(parsed, name) for name in parsed.__struct_fields__ if name != "stamp"}
    return {name: str(text) for name, text in named.items() if text is not None}


def at_another_time(text: str) -> str:
    """The text with another day, hour, minute, second and fraction in front."""
    return re.sub(r"\A(\[?)\d{4}-\d\d-\d\d(.)\d\d:\d\d:\d\d(.)\d{3}", r"\g<1>2031-12-29\g<2>23:58:59\g<3>987", text)


def test_each_layout_has_samples_and_rejects() -> None:
    assert len(layouts.definitions()) > 20
    assert not [name for name, file in layouts.definitions().items() if not (file.samples and file.rejects)]


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_a_sample_is_claimed_by_its_layout_and_yields_exactly_its_fields(name: str, sample: Sample) -> None:
    found = layouts.parse(sample.line)
    assert found is not None
    assert (found[0], fields_of(found[1])) == (name, dict(sample.fields))


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_the_first_line_of_a_sample_is_a_header_that_the_bulk_count_finds(name: str, sample: Sample) -> None:
    layout = layouts.by_name()[name]
    assert layout.is_header(sample.line.split("\n")[0])
    assert sample.line.encode().startswith(layout.starts)


@pytest.mark.parametrize("name", layouts.definitions())
def test_a_line_that_is_logged_again_is_read_as_it_was_but_for_its_time(name: str) -> None:
    read = layouts.reader(name)
    texts = [sample.line for each, sample in SAMPLES if each == name]
    for text in [*texts, *(at_another_time(text) for text in texts), *texts]:
        assert read(text) == (layouts.parse(text, name) or (name, None))[1], text


@pytest.mark.parametrize(("name", "line"), REJECTS)
def test_a_reject_is_left_to_other_layouts(name: str, line: str) -> None:
    found = layouts.parse(line)
    assert found is None or found[0] != name


def test_a_message_ends_at_its_logger_and_does_not_include_a_torn_line_after_it() -> None:
    message = "[2026-11-20 10:15:30,123] INFO Left (reason: closed) (kafka.coordinator.group.GroupCoordinator)"
    torn = f"{message}\n[2026-11-2 10:15:31] INFO Stopped (reason: torn) (kafka.server.KafkaServer)"
    found = layouts.parse(torn)
    assert found is not None
    assert found[1].message == "Left (reason: closed)"


def test_the_trace_after_a_logger_belongs_to_the_message() -> None:
    message = "[2026-11-20 10:15:30,123] ERROR Failed (kafka.server.KafkaServer)"
    found = layouts.parse(f"{message}\ncom.acme.Trouble: of two\nlines\n\tat com.acme.Main.main(Main.java:1)")
    assert found is not None
    assert found[1].message == "Failed\ncom.acme.Trouble: of two\nlines\n\tat com.acme.Main.main(Main.java:1)"
