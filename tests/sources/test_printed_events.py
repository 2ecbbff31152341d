"""librdkafka's log events, as the programs around it print their fields."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze_with_events

GROUP = '[thrd:main]: Group "payments"'
STEADY = "in state up (join-state steady) with 4 assigned partition(s)"
MAX_POLL = (
    "[thrd:main]: Application maximum poll interval (300000ms) exceeded by 88ms (adjust max.poll.interval.ms for "
    "long-running message processing): leaving group"
)
EVENTS = (
    ("07:00", 7, "JOIN", f"{GROUP}: Joining group with 0 owned partition(s): group join"),
    ("08:00", 6, "REBALANCE", f"{GROUP} is rebalancing (EAGER) {STEADY}: rebalance in progress"),
    ("14:00", 4, "MAXPOLL", MAX_POLL),
    ("14:00", 6, "REBALANCE", f"{GROUP} initiating rebalance (EAGER) {STEADY} (lost): max.poll.interval.ms exceeded"),
)
READ = ["JoinRequested", "JoinRequested", "PollTimeoutExpired", "JoinRequested"]
CLIENT, DAY = "orders#consumer-1", "2026-11-20 10:"
Print = Callable[[str, int, str, str], str]


def quoted(message: str) -> str:
    return "'" + message.replace("'", "\\'") + "'"


def broken(text: str) -> str:
    return textwrap.fill(text, 90, break_on_hyphens=False)


UNTIMED: dict[str, Print] = {
    "fields": lambda _, level, facility, text: f"facility={facility}, level={level}, msg={text}",
    "fields, of another order": lambda _, level, facility, text: (
        f"topic=o, lvl={level}, fac={facility}, message={text}"
    ),
    "fields, the message on a line below": lambda _, level, facility, text: (
        f"facility={facility}, level={level},\nmsg={text}"
    ),
    "fields, broken at 90 columns": lambda _, level, facility, text: broken(
        f"facility={facility}, level={level}, msg={text}"
    ),
    "fields, behind what is left of a time": lambda at, level, facility, text: (
        f"{at[2:]}.123 facility={facility}, level={level}, msg={text}"
    ),
    "C++ examples": lambda _, level, facility, text: f"LOG-{level}-{facility}: {text}",
    "C++ examples, broken at 90 columns": lambda _, level, facility, text: broken(f"LOG-{level}-{facility}: {text}"),
    "C++ accessors, before threads were named": lambda _, level, facility, text: (
        f" event.type()= 2\n event.str()= {text.removeprefix('[thrd:main]: ')}\n event.err()= 0. detail: Success\n"
        f" event.severity()= {level}\n event.fac()= {facility}\n event.throttle_time()= 0\n--------"
    ),
    "node-rdkafka": lambda _, level, facility, text: (
        f"event.log [ {{ severity: {level}, fac: '{facility}', message: {quoted(text)} }} ]"
    ),
    "node-rdkafka, broken by Node.js": lambda _, level, facility, text: (
        f"event.log [ {{ severity: {level},\n    fac: '{facility}',\n    message:\n     {quoted(text)} }} ]"
    ),
    "node-rdkafka, a field on each line": lambda _, level, facility, text: (
        f"event.log [\n  {{\n    severity: {level},\n    fac: '{facility}',\n    message: {quoted(text)}\n  }}\n]"
    ),
    "node-rdkafka as JSON": lambda _, level, facility, text: (
        "event.log " + json.dumps([{"severity": level, "fac": facility, "message": text}])
    ),
}
TIMED: dict[str, Print] = {
    "fields behind a logger": lambda at, level, facility, text: (
        f"{DAY}{at},123 - kafka - INFO - facility={facility}, level={level}, msg={text}"
    ),
    "confluent-kafka-dotnet": lambda at, _, facility, text: (
        f"{DAY}{at}.123 [INF] Name: {CLIENT}, Level: Info, Facility: {facility}, Message: {text}"
    ),
    "confluent-kafka-dotnet through Serilog": lambda at, _, facility, text: (
        f'{DAY}{at}.123 [INF] LogMessage {{ Name: "{CLIENT}", Level: Info, Facility: "{facility}", '
        f"Message: {json.dumps(text)} }}"
    ),
    "confluent-kafka-dotnet as JSON": lambda at, _, facility, text: (
        f"{DAY}{at}.123 [INF] " + json.dumps({"Name": CLIENT, "Level": 6, "Facility": facility, "Message": text})
    ),
    "confluent-kafka-go": lambda at, level, facility, text: f"{DAY}{at} [{facility}][{CLIENT}][{level}]{text}",
    "confluent-kafka-javascript": lambda at, _, facility, text: (
        f"{{\n  message: {quoted(text)},\n  name: '{CLIENT}',\n  fac: '{facility}',\n"
        f"  timestamp: {1795168800000 + 60_000 * int(at[:2])}\n}}"
    ),
    "node-rdkafka behind a time": lambda at, level, facility, text: (
        f"{DAY}{at}.123 event.log {{ severity: {level}, fac: '{facility}', message: {quoted(text)} }}"
    ),
    "php-rdkafka": lambda at, level, facility, text: f"{DAY}{at} {facility}, {text} (level: {level})",
    "C++ examples": lambda at, level, facility, text: f"{DAY}{at}.123: LOG-{level}-{facility}: {text}",
    "C++ accessors": lambda at, level, facility, text: (
        f"{DAY}{at}Z app.task-1 |Notice| : \n--------\n event.type()= 2\n event.str()= {text}\n"
        f" event.severity()= {level}\n event.fac()= {facility}\n--------"
    ),
}


@pytest.mark.parametrize("fenced", [False, True], ids=["as it is", "in a fence"])
@pytest.mark.parametrize(
    ("printed", "timed"),
    [(printed, timed) for shapes, timed in ((UNTIMED, False), (TIMED, True)) for printed in shapes.values()],
    ids=[*UNTIMED, *(f"{name}, timed" for name in TIMED)],
)
def test_an_event_is_read_however_a_program_prints_its_fields(
    tmp_path: Path,
    printed: Print,
    timed: bool,  # noqa: FBT001
    fenced: bool,  # noqa: FBT001
) -> None:
    lines = "\n".join(printed(*event) for event in EVENTS) + "\n"
    (tmp_path / "app.log").write_text(f"What we see:\n\n```\n{lines}```\n" if fenced else lines, encoding="utf-8")
    analysis = analyze_with_events([str(tmp_path)], AnalyzeOptions(engine="local"), keep_events=True)
    rows = sorted(analysis.events.to_pylist(), key=lambda row: row["byte_offset"])
    assert [row["event"] for row in rows] == READ
    assert [row["ts"] is not None and f"{row['ts']:%M:%S}"[:5] for row in rows] == (
        [at for at, *_ in EVENTS] if timed else [False] * len(rows)
    )
    causes = [cause.cause for incident in analysis.report.incidents for cause in incident.root_causes]
    assert causes == ["unexplained"] * timed + ["slow-processing"]
