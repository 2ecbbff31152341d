"""The settings of the job: on the command line `--name`, in a TOML file `name = …`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rebalance_forensics.pipeline.refusals import InputError

FORMATS = ("parquet", "delta", "iceberg")
SEVERITIES = ("info", "warning", "critical")
STREAMS = ("available-now", "continuous")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One of them."""

    name: str
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    repeated: bool = False
    flag: bool = False
    number: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting(name="input", metavar="URI", repeated=True, help="logs: a directory, s3://, gs://, abfss:// or hdfs://"),
    Setting(
        name="column",
        metavar="NAME=COLUMN",
        repeated=True,
        help="the inputs are tables (a name Spark knows, or a directory of Parquet, Delta or Iceberg) whose COLUMN "
        "holds NAME: time and message; host, file, cluster, level, logger, thread, line, offset",
    ),
    Setting(name="output", metavar="URI", help="where the tables are"),
    Setting(
        name="table-format",
        choices=FORMATS,
        help="parquet (default); delta or iceberg: such tables besides, in OUTPUT/delta or OUTPUT/iceberg",
    ),
    Setting(name="catalog", metavar="NAME", help="Delta or Iceberg tables are NAME.events, … of a catalog of Spark's"),
    Setting(
        name="output-mode", metavar="MODE", help="permissions of new files in a file system, such as 640 (default: 600)"
    ),
    Setting(name="since", metavar="T", help="start of the interval (default: where the last run stopped)"),
    Setting(name="until", metavar="T", help="end of the interval (default: now); ISO 8601, or 2h, 45m before now"),
    Setting(name="cluster", metavar="NAME", help="name of the Kafka cluster the logs are from"),
    Setting(name="cluster-per-directory", flag=True, help="each directory right below an input is a cluster"),
    Setting(name="tz", metavar="[HOST=]ZONE", repeated=True, help="zone of log times that carry none"),
    Setting(name="patterns", metavar="DIR", repeated=True, help="a directory of your own patterns"),
    Setting(
        name="unpack-ratio",
        metavar="N",
        number=True,
        help="a packed file may unpack to N times its size before it is taken for a decompression bomb (1000)",
    ),
    Setting(name="lookback", metavar="T", help="how far before a date an investigation looks (default: 24h)"),
    Setting(name="lookahead", metavar="T", help="how far after a date it looks (default: 2h)"),
    Setting(
        name="stream",
        choices=STREAMS,
        help="follow the logs with Structured Streaming: available-now reads what is new and ends, continuous runs on",
    ),
    Setting(name="every", metavar="T", help="how often a continuous stream checks for new lines (default: 10s)"),
    Setting(name="checkpoint", metavar="URI", help="where a stream keeps how far it read (default: in OUTPUT)"),
    Setting(name="wait", metavar="T", help="how long to wait for another job that writes these tables (default: 5m)"),
    Setting(
        name="lease",
        metavar="T",
        help="a job that gives no sign of life for so long gives up its tables (default: 60s)",
    ),
    Setting(name="engine", choices=("spark", "local"), help="spark (default), or local: in this process"),
    Setting(name="tasks", metavar="N", number=True, help="tasks at once (default: what Spark says)"),
    Setting(name="java-home", metavar="DIR", help="the Java of a session of our own"),
    Setting(
        name="fail-on",
        choices=SEVERITIES,
        help="exit with 1 when an incident of this severity or a worse one was found",
    ),
    Setting(name="reports", choices=SEVERITIES, help="write an HTML report of each incident of this severity or worse"),
    Setting(name="link", metavar="URL", help="where OUTPUT/reports is opened in a browser: messages link to the pages"),
    Setting(name="webhook", metavar="KIND=URL", repeated=True, help="slack=…, pagerduty=KEY or generic=…"),
    Setting(
        name="alert-from",
        choices=SEVERITIES,
        help="call webhooks about incidents of this severity or worse (default: critical)",
    ),
    Setting(name="metrics", metavar="FILE", help="write metrics of the run as Prometheus text"),
    Setting(name="log", choices=("text", "json"), help="format of standard error (default: text)"),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Settings, and where those of a file stand in it."""

    values: Mapping[str, Any]
    places: Mapping[str, str] = field(default_factory=dict)
    """By name, `job.toml:3: `."""


def from_file(path: Path) -> FileSettings:
    """The settings of a TOML file."""
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"--config {path}: {(error.strerror or str(error)).lower()}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path}: this is not TOML: {error}.") from error
    places = {name: f"{path}:{_line_of(text, name)}: " for name in values}
    written = {name: _written(name, value) for name, value in values.items()}
    for name, value in written.items():
        problem = _problem(name, value)
        if problem:
            raise InputError(f"{places[name]}{problem}.")
    return FileSettings(written, places)


def _written(name: str, value: object) -> object:
    """TOML has times of its own; here they are what a person would write on the command line."""
    return value.isoformat() if isinstance(value, date) and name in ("since", "until") else value


def _problem(name: str, value: object) -> str | None:
    setting = BY_NAME.get(name)
    if setting is None:
        near = get_close_matches(name, BY_NAME, 1)
        return f"{name} is no setting; " + (f"did you mean {near[0]}?" if near else f"use {', '.join(BY_NAME)}")
    if setting.choices:
        right, wanted = value in setting.choices, f"one of {', '.join(setting.choices)}"
        return None if right else f"{name} = {value!r}: use {wanted}"
    right, wanted = _kind(setting, value)
    return None if right else f"{name} = {value!r}: write {wanted}"


def _kind(setting: Setting, value: object) -> tuple[bool, str]:
    """Whether a value is of the right kind, and what that is."""
    if setting.flag:
        return isinstance(value, bool), "true or false"
    if setting.number:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0, "a number above 0"
    if setting.repeated:
        texts = isinstance(value, list) and all(isinstance(element, str) for element in value)
        return texts, 'a list of texts, ["…"]'
    return isinstance(value, str), 'a text, "…"'


def _line_of(text: str, name: str) -> int:
    key = re.compile(rf"\s*[\[\"']*{re.escape(name)}\b(?!-)")
    return next((number for number, line in enumerate(text.splitlines(), 1) if key.match(line)), 1)
