"""Weeks of incidents, from the tables of the job."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer
from msgspec import ValidationError, convert

from rebalance_forensics import __version__
from rebalance_forensics.cli.outcomes import OK, PARTIAL, colored, leave, say, warn_all, width
from rebalance_forensics.cli.output_files import STDOUT, check_target
from rebalance_forensics.cli.parts import Parts
from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.pipeline.options import parse_instant
from rebalance_forensics.pipeline.refusals import InputError, did_you_mean
from rebalance_forensics.report.exports.csv_tables import csv_text
from rebalance_forensics.report.fleet import SECTIONS, Fleet, Known, fleet_of, markdown
from rebalance_forensics.report.incident_markdown import safe
from rebalance_forensics.report.output_files import write_whole

_CSV = "-csv"
KEYS = Known.__struct_fields__


def fleet(
    context: typer.Context,
    tables: Annotated[str, typer.Argument(metavar="TABLES", help="The --output of the job: a directory or a URI.")],
    *,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="F", help="Write a page as one self-contained HTML file.", show_default=False),
    ] = None,
    export: Annotated[
        list[str],
        typer.Option(
            "--export",
            metavar="FORMAT=F",
            help="Write markdown, groups-csv, causes-csv, culprits-csv, recurring-csv or muted-csv. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer reads the default and makes a new list
    since: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="Begin at T, ISO 8601 or 14d before the end of the last run; 28d by default.",
            show_default=False,
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Mute incidents that the team has accepted, as FILE lists them (docs/running-on-a-cluster.md).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show weeks of incidents, from the tables of the job.

    Groups by unread time and rebalances, causes over the weeks, culprits, faults that come back, what changed.
    """
    from rebalance_forensics.report.html.fleet_page import fleet_page  # noqa: PLC0415
    from rebalance_forensics.report.terminal.fleet import render_fleet  # noqa: PLC0415

    exports = [_export(each) for each in export]
    for target in (*filter(None, (html,)), *(path for _, path in exports)):
        check_target(target)
    accepted = _known(known) if known else ()
    parts: Parts = context.find_root().obj
    read = parts.fleet_tables(tables, parse_instant(since) if since else None)
    found = fleet_of(read, accepted)
    if STDOUT not in (html, *(path for _, path in exports)):
        say(render_fleet(found, width=width(), color=colored()))
    if html:
        _write(html, fleet_page(found, __version__))
    for name, path in exports:
        _write(path, _exported(found, name))
    warn_all(read.unreadable)
    leave(PARTIAL if read.unreadable else OK)


def _write(path: Path, text: str) -> None:
    if path == STDOUT:
        say(text)
    else:
        write_whole(path, text)


def _export(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    formats = ("markdown", *(f"{section}{_CSV}" for section in SECTIONS))
    if name not in formats:
        raise InputError(f"--export {name}: there is no such format; {did_you_mean(name, formats, 'formats')}")
    if not path:
        raise InputError(f"--export {name}: write {name}=FILE.")
    return name, Path(path)


def _exported(found: Fleet, name: str) -> str:
    if name == "markdown":
        return "\n".join(markdown(found, safe)) + "\n"
    rows = (row for each in found.sections if each.id == name.removesuffix(_CSV) for row in (each.columns, *each.rows))
    return csv_text(rows)


def _known(path: Path) -> Sequence[Known]:
    """The entries of a TOML file: `[[known]]` with a cause, group or culprit, until when and why."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("known")
        accepted = convert(entries, tuple[Known, ...])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--known {path}: not valid TOML: {error}.") from error
    except ValidationError as error:
        raise InputError(f"--known {path}: {error}; the entries are [[known]] with {', '.join(KEYS)}.") from error
    for entry in accepted:
        if not any(fnmatchcase(cause, entry.cause) for cause in all_causes()):
            near = did_you_mean(entry.cause, sorted(all_causes()), "causes")
            raise InputError(f"--known {path}: there is no cause {entry.cause}; {near}")
    if not all(str(each) for each in accepted):
        raise InputError(f"--known {path}: an entry without cause, group and culprit would mute everything.")
    return accepted
