"""A record is the same whether its message stands behind its header or on the line below."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.layouts.text_layouts import TextLayout
from tests.sources.test_pastes import read

NO_HEADER = {"bare-message", "dated-message", "go-standard", "librdkafka-event", "librdkafka-fields", "time-last"}
"""Layouts of which too little stands in front of the message to be known by that alone, or that end with their time."""
OPTIONAL_END = {"level-first", "nest", "zerolog-console"}
"""Layouts whose header may end earlier, so that its end is a message like any other."""
ENDS_LIKE_A_RECORD = {"logger-first", "wildfly"}
"""Layouts whose header ends with the logger in parentheses, as records of Kafka's own layout do."""
IN_COLUMNS = {"rich"}
"""Layouts that pad their header to a column and end the first line with the source: they wrap by themselves."""
WITHOUT_LOGGER = {"jvm-gc", "jvm-openj9", "jvm-output", "jvm-unified", "kubernetes-event", "supervisord"}
"""What the JVM, Kubernetes and supervisord report is no message below a header."""
SAMPLES = [
    (name, sample.line)
    for name, file in layouts.definitions().items()
    for sample in file.samples
    if isinstance(layouts.by_name()[name], TextLayout)
    and name not in NO_HEADER | OPTIONAL_END | ENDS_LIKE_A_RECORD | IN_COLUMNS | WITHOUT_LOGGER
    and "\n" not in sample.line
    and sample.fields["message"] in sample.line
]
MESSAGE = "[Consumer clientId=c, groupId=payments] (Re-)joining group"


@pytest.mark.parametrize(("name", "line"), SAMPLES)
@pytest.mark.parametrize("between", [" \n\t", "\n      "])
def test_a_message_below_its_header_is_read_in_every_layout(name: str, line: str, between: str) -> None:
    layout = layouts.by_name()[name]
    parsed = layout.parse(line)
    assert parsed is not None
    at = line.index(parsed.message)
    assert layout.parse(f"{line[:at].rstrip()}{between}{line[at:]}") == parsed


def test_category_lines_of_a_console_are_the_headers_of_what_is_indented_below(tmp_path: Path) -> None:
    records = read("".join(f"info: com.acme.Bus[0]\n      {MESSAGE}\n" for _ in range(3)), tmp_path)
    assert [(record.logger, record.message) for record in records] == [("com.acme.Bus", MESSAGE)] * 3
    assert all(MESSAGE in record.text for record in records)


@pytest.mark.parametrize("length", [1, 60, 200])
def test_a_short_log_of_java_util_logging_is_read_unchanged_however_long_its_messages_are(
    length: int, tmp_path: Path
) -> None:
    header = (
        "Nov 20, 2026 10:15:30 AM org.apache.kafka.clients.consumer.internals.AbstractCoordinator sendJoinGroupRequest"
    )
    message = f"{'g' * length} payments: heartbeat: Kafka::RebalanceInProgress"
    [record] = read(f"{header}\nINFO: {message}\n", tmp_path)
    assert (record.level, record.message) == ("INFO", message)
