"""The settings of the job: the command line (`--name`) over its TOML file (`name = …`) over the defaults."""

from __future__ import annotations

import argparse
import re
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from rebalance_forensics.job.alerts import webhook_of
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.pipeline.inputs.log_tables import columns_of
from rebalance_forensics.pipeline.options import AnalyzeOptions, mode_of, parse_instant, zone_rules
from rebalance_forensics.pipeline.refusals import InputError, address_of
from rebalance_forensics.records import HOUR_MS, SECOND_MS
from rebalance_forensics.report.urgency_order import SEVERITIES
from rebalance_forensics.sources.files.budgets import USUAL_RATIO, Limits

T = TypeVar("T")
FORMATS = ("delta", "iceberg")
STREAMS = ("available-now", "continuous")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting: an option of the command line, and a key of the TOML file."""

    name: str
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    repeated: bool = False
    flag: bool = False
    number: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="input", metavar="URI", repeated=True, help="the logs: a directory, s3://, gs://, abfss:// or hdfs://"
    ),
    Setting(
        name="column",
        metavar="NAME=COLUMN",
        repeated=True,
        help="read tables (a name in Spark's catalog, or a directory of Parquet, Delta or Iceberg): COLUMN contains "
        "NAME. Required: time, message; optional: host, file, cluster, level, logger, thread, line, offset",
    ),
    Setting(name="output", metavar="URI", help="directory of the tables"),
    Setting(
        name="table-format",
        choices=FORMATS,
        help="delta (default); iceberg: Delta, and the same tables in Iceberg, in OUTPUT/iceberg or a catalog",
    ),
    Setting(name="catalog", metavar="NAME", help="write the Iceberg tables as NAME.events, … in a Spark catalog"),
    Setting(
        name="output-mode", metavar="MODE", help="permissions of new files in a file system, such as 640 (default: 600)"
    ),
    Setting(name="since", metavar="T", help="start of the interval (default: where the last run stopped)"),
    Setting(name="until", metavar="T", help="end of the interval (default: now): ISO 8601, or 2h, 45m before now"),
    Setting(name="cluster", metavar="NAME", help="name of the Kafka cluster the logs are from"),
    Setting(name="cluster-per-directory", flag=True, help="treat each directory directly below an input as a cluster"),
    Setting(name="tz", metavar="[HOST=]ZONE", repeated=True, help="time zone of log times without one"),
    Setting(name="patterns", metavar="DIR", repeated=True, help="a directory of your own patterns"),
    Setting(
        name="unpack-ratio",
        metavar="N",
        number=True,
        help="stop unpacking a file at N times its compressed size: it may be a decompression bomb (default: 1000)",
    ),
    Setting(name="lookback", metavar="T", help="time before a date that its investigation includes (default: 24h)"),
    Setting(name="lookahead", metavar="T", help="time after a date that its investigation includes (default: 2h)"),
    Setting(
        name="stream",
        choices=STREAMS,
        help="follow the logs with Structured Streaming: available-now reads new lines and exits, "
        "continuous keeps running",
    ),
    Setting(name="every", metavar="T", help="how often a continuous stream checks for new lines (default: 10s)"),
    Setting(name="checkpoint", metavar="URI", help="directory of the stream's checkpoint (default: in OUTPUT)"),
    Setting(
        name="wait", metavar="T", help="how long to wait for another job that is writing these tables (default: 5m)"
    ),
    Setting(
        name="lease",
        metavar="T",
        help="a job that fails to renew its lease for this long loses its tables (default: 60s)",
    ),
    Setting(name="engine", choices=("spark", "local"), help="spark (default); local: in this process, without Spark"),
    Setting(name="tasks", metavar="N", number=True, help="number of parallel tasks (default: Spark's parallelism)"),
    Setting(name="java-home", metavar="DIR", help="Java installation for Spark, if the job starts it"),
    Setting(
        name="fail-on",
        choices=SEVERITIES,
        help="exit with 1 if an incident of at least this severity was found",
    ),
    Setting(
        name="reports", choices=SEVERITIES, help="write an HTML report for each incident of at least this severity"
    ),
    Setting(name="link", metavar="URL", help="address at which OUTPUT/reports is served: messages link to its pages"),
    Setting(name="webhook", metavar="KIND=URL", repeated=True, help="slack=…, pagerduty=KEY or generic=…"),
    Setting(
        name="alert-from",
        choices=SEVERITIES,
        help="call webhooks for incidents of at least this severity (default: critical)",
    ),
    Setting(name="metrics", metavar="FILE", help="write metrics of the run as Prometheus text"),
    Setting(
        name="dry-run",
        flag=True,
        help="print what would be read, why and how much, and exit without touching tables or leases",
    ),
    Setting(name="timings", flag=True, help="write to standard error how long each stage took"),
    Setting(name="log", choices=("text", "json"), help="format of standard error (default: text)"),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings by name, and their places in the TOML file, for error messages."""

    values: Mapping[str, Any]
    places: Mapping[str, str] = field(default_factory=dict)
    """Name -> `job.toml:3: `."""

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as TOML has it
        """The raw value of a setting."""
        return self.values.get(name, default)

    def read(self, name: str, read: Callable[[Any], T], default: Any = None) -> T:  # noqa: ANN401
        """The value of a setting, parsed; an InputError of the parser gets the setting's place in the file."""
        try:
            return read(self.get(name, default))
        except InputError as refusal:
            raise InputError(f"{self.places.get(name, '')}{refusal}") from refusal


def from_file(path: Path) -> Settings:
    """Read the settings of a TOML file."""
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
    return Settings(written, places)


def _written(name: str, value: object) -> object:
    # TOML has its own type for times; they are converted to the text that the command line takes.
    return value.isoformat() if isinstance(value, date) and name in ("since", "until") else value


def _problem(name: str, value: object) -> str | None:
    setting = BY_NAME.get(name)
    if setting is None:
        near = get_close_matches(name, BY_NAME, 1)
        return f"unknown setting {name}; " + (f"did you mean {near[0]}?" if near else f"use {', '.join(BY_NAME)}")
    if setting.choices:
        right, wanted = value in setting.choices, f"one of {', '.join(setting.choices)}"
        return None if right else f"{name} = {value!r}: use {wanted}"
    right, wanted = _kind(setting, value)
    return None if right else f"{name} = {value!r}: write {wanted}"


def _kind(setting: Setting, value: object) -> tuple[bool, str]:
    if setting.flag:
        return isinstance(value, bool), "true or false"
    if setting.number:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0, "a positive number"
    if setting.repeated:
        texts = isinstance(value, list) and all(isinstance(element, str) for element in value)
        return texts, 'a list of strings, ["…"]'
    return isinstance(value, str), 'a string, "…"'


def _line_of(text: str, name: str) -> int:
    key = re.compile(rf"\s*[\[\"']*{re.escape(name)}\b(?!-)")
    return next((number for number, line in enumerate(text.splitlines(), 1) if key.match(line)), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The parsed command line of the job."""

    options: JobOptions
    engine: str
    java_home: str | None
    log: str = "text"
    timings: bool = False


ENDING = """\
Exit codes: 0 success; 1 an incident at or above --fail-on was found; 2 invalid
usage or input, tables unchanged; 3 part of the input could not be read, the
rest was written; 75 another job is writing these tables, run this one later.

Examples:
  rebalance-forensics job --input s3://logs/kafka --output s3://lake/rebalances
      everything new since the last run
  rebalance-forensics job --config job.toml --since 2026-11-20 --until 2026-11-21
      one day, once more
  rebalance-forensics job tables s3://lake/rebalances
      the versions of the tables after the last run
"""


class Parser(argparse.ArgumentParser):
    """A parser that raises its errors as InputError."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError with the message in one sentence."""
        raise InputError(f"{message.rstrip('.')}{' See' if message.endswith('?') else '; see'} {self.prog} --help.")


def parse(arguments: Sequence[str]) -> Invocation:
    """Parse and check the command line and the TOML file."""
    parser = _parser()
    known, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(_unknown(unknown))
    given = vars(known)
    config = given.pop("config")
    settings = from_file(Path(config)) if config else Settings({})
    typed = {name.replace("_", "-"): value for name, value in given.items() if value not in (None, [], False)}
    places = {name: place for name, place in settings.places.items() if name not in typed}
    return _invocation(Settings({**settings.values, **typed}, places))


def _unknown(arguments: Sequence[str]) -> str:
    first = arguments[0]
    if not first.startswith("-"):
        return f"name the logs with --input: --input {first}"
    near = get_close_matches(first.partition("=")[0], [f"--{name}" for name in BY_NAME], 1, 0.7)
    return f"there is no option {first}" + (f"; did you mean {near[0]}?" if near else "")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="rebalance-forensics job",
        description="Reads the logs of an interval and writes tables of rebalances, incidents and their causes.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=ENDING,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="read these options from a TOML file")
    for setting in SETTINGS:
        name = f"--{setting.name}"
        if setting.flag:
            parser.add_argument(name, action="store_true", help=setting.help)
        elif setting.choices:
            parser.add_argument(name, choices=setting.choices, help=setting.help)
        elif setting.repeated:
            parser.add_argument(name, action="append", metavar=setting.metavar, help=setting.help)
        else:
            kind = _count if setting.number else str
            parser.add_argument(name, metavar=setting.metavar, type=kind, help=setting.help)
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _invocation(settings: Settings) -> Invocation:
    for name in ("input", "output"):
        if not settings.get(name):
            raise InputError(f"--{name} is missing; see rebalance-forensics job --help.")
    _refuse_contradictions(settings)
    reading = AnalyzeOptions(
        zones=settings.read("tz", zone_rules, ()),
        cluster=settings.get("cluster"),
        cluster_per_directory=settings.get("cluster-per-directory", False),
        patterns=tuple(str(Path(directory).resolve()) for directory in settings.get("patterns", ())),
        limits=Limits.of(settings.get("unpack-ratio", USUAL_RATIO)),
    )
    options = JobOptions(
        inputs=tuple(settings.get("input")),
        output=settings.get("output"),
        columns=settings.read("column", columns_of, ()),
        since=settings.read("since", _time_of),
        until=settings.read("until", _time_of),
        reading=reading,
        dry_run=settings.get("dry-run", False),
        table_format=settings.get("table-format", "delta"),
        catalog=settings.get("catalog"),
        lookback_ms=settings.read("lookback", _duration, f"{24 * HOUR_MS}ms"),
        lookahead_ms=settings.read("lookahead", _duration, f"{2 * HOUR_MS}ms"),
        stream=settings.get("stream"),
        every_ms=settings.read("every", _duration, "10s"),
        checkpoint=settings.get("checkpoint"),
        tasks=settings.get("tasks"),
        fail_on=settings.get("fail-on"),
        reports_from=settings.get("reports"),
        link=settings.read("link", lambda text: text and address_of("--link", text)),
        webhooks=settings.read("webhook", _webhooks, ()),
        alert_from=settings.get("alert-from", "critical"),
        metrics=settings.get("metrics"),
        output_mode=settings.read("output-mode", lambda text: mode_of("--output-mode", text), "600"),
        wait_ms=settings.read("wait", _duration, "5m"),
        lease_ms=settings.read("lease", _lease, "60s"),
    )
    return Invocation(
        options=options,
        engine=settings.get("engine", "spark"),
        java_home=settings.get("java-home"),
        log=settings.get("log", "text"),
        timings=settings.get("timings", False),
    )


def _refuse_contradictions(settings: Settings) -> None:
    is_local = settings.get("engine") == "local"
    iceberg = settings.get("table-format") == "iceberg"
    if is_local and iceberg:
        raise InputError("--table-format iceberg is written by Spark; leave out --engine local.")
    if is_local and settings.get("stream"):
        raise InputError("--stream is followed by Spark; leave out --engine local.")
    if settings.get("stream") and settings.get("dry-run"):
        raise InputError("--dry-run shows what one run would read; leave out --stream.")
    if settings.get("stream") and settings.get("column"):
        raise InputError("--stream follows files; leave out --column, or run without --stream on a schedule.")
    if settings.get("catalog") and not iceberg:
        raise InputError("--catalog names Iceberg tables; add --table-format iceberg.")


def _webhooks(given: Sequence[str]) -> tuple[str, ...]:
    for text in given:
        webhook_of(text)
    return tuple(given)


def _time_of(text: str | None) -> int | None:
    # Epoch ms; a duration counts back from now, because a job has no last line to count back from.
    if text is None:
        return None
    instant = parse_instant(text)
    return instant.at if instant.at is not None else int(time.time() * 1000) - instant.before_end_ms


def _lease(text: str) -> int:
    lasts_ms = _duration(text)
    if lasts_ms < 3 * SECOND_MS:
        raise InputError(f"--lease {text}: a lease has to be renewed in time; write 3s or more.")
    return lasts_ms


def _duration(text: str) -> int:
    instant = parse_instant(text)
    if instant.at is not None:
        raise InputError(f"{text!r} is a point in time; write how long, like 24h.")
    return instant.before_end_ms
