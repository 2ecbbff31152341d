"""The command line of the job over its settings file over the defaults."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from rebalance_forensics.job.alerts import webhook_of
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.settings import SETTINGS, FileSettings, from_file
from rebalance_forensics.pipeline.inputs.log_tables import columns_of
from rebalance_forensics.pipeline.instants import parse_instant
from rebalance_forensics.pipeline.options import AnalyzeOptions, zone_rules
from rebalance_forensics.pipeline.permissions import mode_of
from rebalance_forensics.pipeline.refusals import InputError, address_of
from rebalance_forensics.records import HOUR_MS, SECOND_MS
from rebalance_forensics.sources.files.budgets import USUAL_RATIO, Limits

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A run and where it runs."""

    options: JobOptions
    engine: str
    java_home: str | None
    log: str = "text"


ENDING = """\
Exit codes: 0 written; 1 an incident at or above --fail-on; 2 wrong usage or
input, tables untouched; 3 part of the input could not be read, the rest is
written; 75 another job writes these tables, run this one later.

Examples:
  rebalance-forensics job --input s3://logs/kafka --output s3://lake/rebalances
      what is new since the last run
  rebalance-forensics job --config job.toml --since 2026-11-20 --until 2026-11-21
      one day again
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong the way every other refusal is said."""
        raise InputError(f"{message.rstrip('.')}; see rebalance-forensics job --help.")


def parse(arguments: Sequence[str]) -> Invocation:
    """All settings, checked."""
    given = vars(_parser().parse_args(arguments))
    config = given.pop("config")
    settings = from_file(Path(config)) if config else FileSettings({})
    typed = {name.replace("_", "-"): value for name, value in given.items() if value not in (None, [], False)}
    places = {name: place for name, place in settings.places.items() if name not in typed}
    return _invocation(_Settings(FileSettings({**settings.values, **typed}, places)))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rebalance-forensics job",
        description="Logs of an interval in, tables out: what happened, who read what, why, and what was read.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=ENDING,
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
            kind = _count if setting.number else str
            parser.add_argument(name, metavar=setting.metavar, type=kind, help=setting.help)
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings by name; what is wrong with one is said with its place in the file."""

    given: FileSettings

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as TOML has it
        return self.given.values.get(name, default)

    def read(self, name: str, read: Callable[[Any], T], default: Any = None) -> T:  # noqa: ANN401
        try:
            return read(self.get(name, default))
        except InputError as refusal:
            raise InputError(f"{self.given.places.get(name, '')}{refusal}") from refusal


def _invocation(settings: _Settings) -> Invocation:
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
        since=settings.read("since", _moment),
        until=settings.read("until", _moment),
        reading=reading,
        table_format=settings.get("table-format", "parquet"),
        catalog=settings.get("catalog"),
        lookback_ms=settings.read("lookback", _distance, f"{24 * HOUR_MS}ms"),
        lookahead_ms=settings.read("lookahead", _distance, f"{2 * HOUR_MS}ms"),
        stream=settings.get("stream"),
        every_ms=settings.read("every", _distance, "10s"),
        checkpoint=settings.get("checkpoint"),
        tasks=settings.get("tasks"),
        fail_on=settings.get("fail-on"),
        reports_from=settings.get("reports"),
        link=settings.read("link", lambda text: text and address_of("--link", text)),
        webhooks=settings.read("webhook", _webhooks, ()),
        alert_from=settings.get("alert-from", "critical"),
        metrics=settings.get("metrics"),
        output_mode=settings.read("output-mode", lambda text: mode_of("--output-mode", text), "600"),
        wait_ms=settings.read("wait", _distance, "5m"),
        lease_ms=settings.read("lease", _lease, "60s"),
    )
    return Invocation(
        options=options,
        engine=settings.get("engine", "spark"),
        java_home=settings.get("java-home"),
        log=settings.get("log", "text"),
    )


def _refuse_contradictions(settings: _Settings) -> None:
    alone = settings.get("engine") == "local"
    spark_tables = settings.get("table-format", "parquet") != "parquet"
    if alone and spark_tables:
        raise InputError(
            f"--table-format {settings.get('table-format')} is written by Spark; leave out --engine local."
        )
    if alone and settings.get("stream"):
        raise InputError("--stream is followed by Spark; leave out --engine local.")
    if settings.get("stream") and settings.get("column"):
        raise InputError("--stream follows files; leave out --column, or run without --stream on a schedule.")
    if settings.get("catalog") and not spark_tables:
        raise InputError("--catalog names Delta or Iceberg tables; add --table-format delta or iceberg.")


def _webhooks(given: Sequence[str]) -> tuple[str, ...]:
    for text in given:
        webhook_of(text)
    return tuple(given)


def _moment(text: str | None) -> int | None:
    """A point in time; a distance counts back from now, for a job has no last line to count from."""
    if text is None:
        return None
    instant = parse_instant(text)
    return instant.at if instant.at is not None else int(time.time() * 1000) - instant.before_end_ms


def _lease(text: str) -> int:
    lasts_ms = _distance(text)
    if lasts_ms < 3 * SECOND_MS:
        raise InputError(f"--lease {text}: a lease has to be renewed in time; write 3s or more.")
    return lasts_ms


def _distance(text: str) -> int:
    instant = parse_instant(text)
    if instant.at is not None:
        raise InputError(f"{text!r} is a point in time; write how long, like 24h.")
    return instant.before_end_ms
