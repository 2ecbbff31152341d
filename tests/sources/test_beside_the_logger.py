"""What a Java virtual machine, or println, writes into the same stream as the logger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from rebalance_forensics.records import LogRecord
from rebalance_forensics.sources.records.record_reader import Relevant
from tests.sources.test_reading import TENTH, Read

DEATH = "Terminating due to java.lang.OutOfMemoryError: Java heap space"
LAYOUTS = {
    "text": "2026-11-20 10:15:30,123 [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - {message}",
    "cri": "2026-11-20T10:15:30.123000000Z stdout F 10:15:30.123 [main] INFO  o.a.k.C - {message}",
    "json": '{{"@timestamp":"2026-11-20T10:15:30.123Z","@version":"1","message":"{message}","logger_name":"o.a.k.C",'
    '"thread_name":"main","level":"INFO"}}',
}


def _hits(*words: bytes) -> Relevant:
    return lambda block: sorted(at for word in words for at in _all(block, word))


def _all(block: bytes, word: bytes) -> Sequence[int]:
    return [at for at in range(len(block)) if block.startswith(word, at)]


def _records(tmp_path: Path, layout: str, relevant: Relevant | None, *behind: str) -> list[LogRecord]:
    line = LAYOUTS[layout]
    before = [line.format(message=f"Processed {n} orders") for n in range(12)]
    wrap = "2026-11-20T10:15:31.500000000Z stdout F {}" if layout == "cri" else "{}"
    lines = [*before, line.format(message="(Re-)joining group"), *map(wrap.format, behind)]
    read = Read(tmp_path, {"app-1/app.log": "\n".join(lines) + "\n"}, relevant=relevant)
    return read.records["app-1/app.log"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("relevant", [None, _hits(b"joining group", b"Terminating")], ids=["all", "hits"])
def test_the_last_message_of_a_jvm_is_a_separate_record(layout: str, relevant: Relevant | None, tmp_path: Path) -> None:
    joining, death = _records(tmp_path, layout, relevant, DEATH)[-2:]
    assert (joining.message, joining.origin.line) == ("(Re-)joining group", 13)
    assert (death.message, death.origin.line, death.logger) == (DEATH, 14, None)
    assert joining.at == TENTH
    assert death.at is not None
    assert death.at >= joining.at
    offset = death.origin.byte_offset
    assert (tmp_path / "app-1/app.log").read_bytes()[offset:].split(b"\n")[0].endswith(DEATH.encode())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_thread_that_dies_is_a_separate_record_with_its_trace(layout: str, tmp_path: Path) -> None:
    traces = [
        (f'Exception in thread "consumer-{n}" java.lang.IllegalStateException: no rate', f"\tat com.acme.Rates.of({n})")
        for n in range(2)
    ]
    read = _records(tmp_path, layout, None, *[line for trace in traces for line in trace])
    assert [record.message for record in read[-2:]] == ["\n".join(trace) for trace in traces]


@pytest.mark.parametrize("relevant", [None, _hits(b"joining group")], ids=["all", "hits"])
def test_an_object_is_read_whatever_is_printed_after_it(relevant: Relevant | None, tmp_path: Path) -> None:
    read = _records(tmp_path, "json", relevant, "Heap dump file created [79123 bytes in 0.4 secs]", "", "bye")
    (joining,) = [record for record in read if record.origin.line == 13]
    assert (joining.message, joining.at) == ("(Re-)joining group", TENTH)
    assert json.loads(joining.text)["message"] == "(Re-)joining group"


@pytest.mark.parametrize("relevant", [None, _hits(b"Terminating", b"stderr F Could not")], ids=["all", "hits"])
def test_what_a_virtual_machine_prints_to_stderr_has_the_time_that_its_container_gives(
    relevant: Relevant | None, tmp_path: Path
) -> None:
    line = LAYOUTS["cri"]
    lines = [line.format(message=f"Processed {n} orders") for n in range(12)]
    lines += [
        "2026-11-20T10:15:31.000000000Z stderr F Could not find agent library",
        f"2026-11-20T10:15:31.500000000Z stderr F {DEATH}",
        line.format(message="Processed 13 orders"),
    ]
    read = Read(tmp_path, {"app-1/app.log": "\n".join(lines) + "\n"}, relevant=relevant)
    death = next(record for record in read.records["app-1/app.log"] if record.message == DEATH)
    assert (death.at, death.origin.line) == (TENTH + 1377, 14)
    assert read.counts["app-1/app.log"].unparsed == 1
