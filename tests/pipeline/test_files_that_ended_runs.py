"""Values that no Kafka prints, and lines that only look like CSV or JSON: each of them once ended a whole run."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from rebalance_forensics.sources import layouts
from tests.conftest import SHORT_LOG

LINES = SHORT_LOG.splitlines()
MESSAGES = [line[line.index("[GroupCoordinator") : line.rindex(" (")] for line in LINES]
LIBRDKAFKA = layouts.definitions()["json-librdkafka"].samples[0].line
FAR_TOO_MANY = "9" * 5_000
"""Digits: more than Python turns into a number."""
CONFIG = f"""\
[2026-03-01 10:04:00,000] INFO ConsumerConfig values:
\tgroup.id = payments
\tsession.timeout.ms = ²
\tmax.poll.records = {FAR_TOO_MANY}
 (org.apache.kafka.clients.consumer.ConsumerConfig)
"""


def collected(late: timedelta) -> str:
    """The log as a container runtime keeps it that wrote it down later."""
    times = (datetime.fromisoformat(line[1:24].replace(",", ".")) + late for line in LINES)
    stamped = (f"{at.isoformat(timespec='milliseconds')}000000Z" for at in times)
    return "".join(f"{at} stdout F {line}\n" for at, line in zip(stamped, LINES, strict=True))


def as_json(**more: object) -> str:
    """The log as JSON, with more in each object."""
    logger = {"level": "INFO", "logger_name": "kafka.coordinator.group.GroupCoordinator"}
    objects = ({"@timestamp": "2026-03-01T10:00:00Z", **logger, "message": message, **more} for message in MESSAGES)
    return "".join(json.dumps(each) + "\n" for each in objects)


def in_seconds(seconds: object) -> str:
    """A line in an entry whose time is in two parts."""
    return json.dumps({"timestamp": {"seconds": seconds, "nanos": 3}, "message": LINES[0]}) + "\n"


def analyzed(root: Path, **files: str) -> Report:
    for name, content in files.items():
        (root / name.replace("_", ".")).write_text(content, newline="")
    return analyze([str(root)], AnalyzeOptions(engine="local"))


NEIGHBOURS = {
    "CSV with a bare carriage return": ("app.log", SHORT_LOG + '"a",b\rc,d\n'),
    "a second that no calendar has": ("app.log", in_seconds(10**30)),
    "a second that is no number": ("app.log", in_seconds("²")),
    "a second of too many digits": ("app.log", in_seconds(FAR_TOO_MANY)),
    "a severity of several digits": ("app.log", LIBRDKAFKA.replace('"severity":4', '"severity":"0123"')),
    "a broker of too many digits": ("app.log", SHORT_LOG.replace("Coordinator 1", f"Coordinator {FAR_TOO_MANY}")),
    "a setting that is no number": ("app.log", SHORT_LOG + CONFIG),
    "JSON 2,500 deep": ("app.log", SHORT_LOG + '{"a":' * 2500 + "1" + "}" * 2500 + "\n"),
    "JSON 2,500 deep beside a message": ("app.log", as_json(more=json.loads("[" * 500 + "]" * 500))),
}
"""What a file beside a good one holds."""


@pytest.mark.parametrize(("name", "content"), NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_a_strange_file_ends_no_run_and_changes_nothing_about_its_neighbours(
    tmp_path: Path, name: str, content: str
) -> None:
    good = {"server_log": SHORT_LOG.replace("payments", "orders")}
    (tmp_path / name).write_bytes(content.encode())
    report = analyzed(tmp_path, **good)
    orders = [incident for incident in report.incidents if incident.group == "orders"]
    assert {incident.root_causes[0].cause for incident in orders} == {"startup", "process-crash"}
    assert not [gap for gap in report.gaps if "bug" in gap.consequence]
    to_json(report).encode()


def test_a_day_that_february_lacks_in_a_name_dates_nothing(tmp_path: Path) -> None:
    (tmp_path / "app-20260231.log").write_text("".join(f"{line[12:24]} {line[26:]}\n" for line in LINES))
    assert analyzed(tmp_path).inputs[0].matched == len(LINES)


def test_half_a_character_is_shown_as_one_that_could_not_be_read(tmp_path: Path) -> None:
    report = analyzed(tmp_path, app_log=as_json().replace("payments", r"pay\ud83d\ude00\ud83dments"))
    assert [group.group for group in report.groups] == ["pay\U0001f600\ufffdments"]


@pytest.mark.parametrize("hours", [79, -79, 13, -15, 3.25])
def test_lines_that_were_collected_at_times_no_zone_explains_are_of_no_known_zone(tmp_path: Path, hours: float) -> None:
    report = analyzed(tmp_path, app_log=collected(timedelta(hours=hours)))
    (read,) = report.inputs
    assert (read.zone, read.matched, read.errors) == (None, len(LINES), ())
    assert read.first == 1772359200000
    assert any("The time zone of app.log is not known" in gap.what for gap in report.gaps)


@pytest.mark.parametrize(("hours", "zone"), [(-2, "+02:00"), (-5.75, "+05:45"), (12, "-12:00"), (0.05, "UTC")])
def test_a_zone_is_determined_from_lines_that_were_collected_when_written(
    tmp_path: Path, hours: float, zone: str
) -> None:
    report = analyzed(tmp_path, app_log=collected(timedelta(hours=hours)))
    assert report.inputs[0].zone == zone
    assert not [gap for gap in report.gaps if "zone" in gap.what]
