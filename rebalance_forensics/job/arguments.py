"""The command line of the job, and the same names in a TOML file."""

from __future__ import annotations

import argparse
import re
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from rebalance_forensics.job.options import HOUR_MS, JobOptions
from rebalance_forensics.pipeline.instants import parse_instant
from rebalance_forensics.pipeline.options import AnalyzeOptions, zone_rules
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.log_tables import columns_of

FORMATS = ("parquet", "delta")
SEVERITIES = ("info", "warning", "critical")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One option: on the command line `--name`, in TOML `name = …`."""

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
        name="table-format", choices=FORMATS, help="parquet (default), or delta: Delta tables in OUTPUT/delta besides"
    ),
    Setting(name="since", metavar="T", help="begin of the interval (default: where the last run stopped)"),
    Setting(name="until", metavar="T", help="end of the interval (default: now); ISO 8601, or 2h, 45m before now"),
    Setting(name="cluster", metavar="NAME", help="name of the Kafka cluster the logs are from"),
    Setting(name="cluster-per-directory", flag=True, help="each directory right below an input is a cluster"),
    Setting(name="tz", metavar="[HOST=]ZONE", repeated=True, help="zone of log times that carry none"),
    Setting(name="patterns", metavar="DIR", repeated=True, help="a directory of your own patterns"),
    Setting(name="lookback", metavar="T", help="how far before a date an investigation looks (default: 24h)"),
    Setting(name="lookahead", metavar="T", help="and how far behind it (default: 2h)"),
    Setting(name="engine", choices=("spark", "local"), help="spark (default), or local: in this process"),
    Setting(name="tasks", metavar="N", number=True, help="tasks at once (default: what Spark says)"),
    Setting(name="java-home", metavar="DIR", help="the Java of a session of our own"),
    Setting(name="fail-on", choices=SEVERITIES, help="exit with 1 when an incident is as bad as this"),
    Setting(name="reports", choices=SEVERITIES, help="write an HTML report of each incident as bad as this"),
    Setting(name="webhook", metavar="KIND=URL", repeated=True, help="slack=…, pagerduty=KEY or generic=…"),
    Setting(name="alert-from", choices=SEVERITIES, help="severity from which on webhooks are called (critical)"),
    Setting(name="metrics", metavar="FILE", help="write metrics of the run as Prometheus text"),
    Setting(name="log", choices=("text", "json"), help="how standard error is written (text)"),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A run and where it runs."""

    options: JobOptions
    engine: str
    java_home: str | None
    log: str = "text"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong the way every other refusal is said."""
        raise InputError(f"{message.rstrip('.')}; see rebalance-forensics job --help.")


def parse(arguments: Sequence[str]) -> Invocation:
    """The command line over the TOML file over the defaults."""
    given = vars(_parser().parse_args(arguments))
    config = given.pop("config")
    told: dict[str, Any] = _from_toml(Path(config)) if config else {}
    told.update({name.replace("_", "-"): value for name, value in given.items() if value not in (None, [], False)})
    return _invocation(told)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rebalance-forensics job",
        description="Logs of an interval in, tables out: events, generations, pauses, incidents, findings, inputs.",
        epilog="Exit codes: 0 written; 1 an incident at or above --fail-on; 2 wrong usage or input, tables untouched; "
        "3 part of the input could not be read, the rest is written.",
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="a TOML file with the same names")
    for setting in SETTINGS:
        name = f"--{setting.name}"
        if setting.flag:
            parser.add_argument(name, action="store_true", help=setting.help)
        elif setting.choices:
            parser.add_argument(name, choices=setting.choices, help=setting.help)
        elif setting.repeated:
            parser.add_argument(name, action="append", metavar=setting.metavar, help=setting.help)
        else:
            kind = int if setting.number else str
            parser.add_argument(name, metavar=setting.metavar, type=kind, help=setting.help)
    return parser


def _from_toml(path: Path) -> dict[str, Any]:
    """The settings of a file; whatever is wrong is named with its line and the remedy."""
    try:
        text = path.read_text(encoding="utf-8")
        told = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"--config {path}: {(error.strerror or str(error)).lower()}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path}: this is not TOML: {error}.") from error
    for name, value in told.items():
        problem = _problem(name, value)
        if problem:
            raise InputError(f"{path}:{_line_of(text, name)}: {problem}.")
    return told


def _problem(name: str, value: object) -> str | None:
    setting = _BY_NAME.get(name)
    if setting is None:
        near = get_close_matches(name, _BY_NAME, 1)
        return f"{name} is no setting; " + (f"did you mean {near[0]}?" if near else f"use {', '.join(_BY_NAME)}")
    if setting.choices and value not in setting.choices:
        return f"{name} = {value!r}: use one of {', '.join(setting.choices)}"
    wanted: tuple[type, str]
    if setting.flag:
        wanted = bool, "true or false"
    elif setting.number:
        wanted = int, "a number"
    elif setting.repeated:
        wanted = list, 'a list of texts, ["…"]'
    else:
        wanted = str, 'a text, "…"'
    right = isinstance(value, wanted[0]) and not (setting.number and isinstance(value, bool))
    right = right and (wanted[0] is not list or all(isinstance(v, str) for v in _items(value)))
    return None if right else f"{name} = {value!r}: write {wanted[1]}"


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _line_of(text: str, name: str) -> int:
    key = re.compile(rf"\s*[\[\"']*{re.escape(name)}\b")
    return next((number for number, line in enumerate(text.splitlines(), 1) if key.match(line)), 1)


def _invocation(told: Mapping[str, Any]) -> Invocation:
    for name in ("input", "output"):
        if not told.get(name):
            raise InputError(f"--{name} is missing; see rebalance-forensics job --help.")
    if told.get("table-format") == "delta" and told.get("engine") == "local":
        raise InputError("--table-format delta is written by Spark; leave out --engine local.")
    reading = AnalyzeOptions(
        zones=zone_rules(told.get("tz", ())),
        cluster=told.get("cluster"),
        cluster_per_directory=told.get("cluster-per-directory", False),
        patterns=tuple(str(Path(directory).resolve()) for directory in told.get("patterns", ())),
    )
    options = JobOptions(
        inputs=tuple(told["input"]),
        output=told["output"],
        columns=columns_of(told.get("column", ())),
        since=_moment(told.get("since")),
        until=_moment(told.get("until")),
        reading=reading,
        table_format=told.get("table-format", "parquet"),
        lookback_ms=_distance(told.get("lookback"), 24 * HOUR_MS),
        lookahead_ms=_distance(told.get("lookahead"), 2 * HOUR_MS),
        tasks=told.get("tasks"),
        fail_on=told.get("fail-on"),
        reports_from=told.get("reports"),
        webhooks=tuple(told.get("webhook", ())),
        alert_from=told.get("alert-from", "critical"),
        metrics=told.get("metrics"),
    )
    return Invocation(
        options=options,
        engine=told.get("engine", "spark"),
        java_home=told.get("java-home"),
        log=told.get("log", "text"),
    )


def _moment(text: str | None) -> int | None:
    """A point in time; a distance counts back from now, for a job has no last line to count from."""
    if text is None:
        return None
    instant = parse_instant(text)
    return instant.at if instant.at is not None else int(time.time() * 1000) - instant.before_end_ms


def _distance(text: str | None, default: int) -> int:
    if text is None:
        return default
    instant = parse_instant(text)
    if instant.at is not None:
        raise InputError(f"{text!r} is a point in time; write how long, like 24h.")
    return instant.before_end_ms
