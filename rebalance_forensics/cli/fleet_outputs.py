"""Output of the `fleet` command: the terminal, an HTML page, exports; and the incidents it mutes."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import ValidationError, convert

from rebalance_forensics import __version__
from rebalance_forensics.cli.outcomes import colored, say, width
from rebalance_forensics.cli.output_files import STDOUT, check_target
from rebalance_forensics.diagnosis.reference.glossary import glossary
from rebalance_forensics.pipeline.refusals import InputError, did_you_mean
from rebalance_forensics.report.exports.csv_tables import csv_text
from rebalance_forensics.report.fleet import SECTIONS, Fleet, FleetTables, Known, fleet_of, markdown
from rebalance_forensics.report.html.fleet_page import fleet_page
from rebalance_forensics.report.incident_markdown import safe
from rebalance_forensics.report.output_files import write_whole
from rebalance_forensics.report.terminal.fleet import render_fleet

_CSV = "-csv"
_KEYS = ", ".join(Known.__struct_fields__)

FleetExport = tuple[str, Path]
"""A format and the file to write it to."""


def check(html: Path | None, exports: Sequence[FleetExport]) -> None:
    """Raise InputError for an output that cannot be written, before anything is read."""
    for target in _files(html, exports):
        check_target(target)


def write(tables: FleetTables, known: Sequence[Known], html: Path | None, exports: Sequence[FleetExport]) -> None:
    """Write the HTML page and the exports; print the fleet report unless one of them goes to standard output."""
    found = fleet_of(tables, known)
    if STDOUT not in _files(html, exports):
        say(render_fleet(found, width=width(), color=colored()))
    if html:
        _write(html, fleet_page(found, __version__))
    for name, path in exports:
        _write(path, _exported(found, name))


def _files(html: Path | None, exports: Sequence[FleetExport]) -> Sequence[Path]:
    return [*filter(None, (html,)), *(path for _, path in exports)]


def _write(path: Path, text: str) -> None:
    if path == STDOUT:
        say(text)
    else:
        write_whole(path, text)


def export_of(text: str) -> FleetExport:
    """Parse an export like `markdown=F` or `groups-csv=F`; InputError suggests formats."""
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


def known_of(path: Path) -> Sequence[Known]:
    """The accepted incidents in a TOML file: `[[known]]` with a cause, group or culprit, an end date and a reason."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("known")
        accepted = convert(entries, tuple[Known, ...])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--known {path}: not valid TOML: {error}.") from error
    except ValidationError as error:
        raise InputError(f"--known {path}: {error}; the entries are [[known]] with {_KEYS}.") from error
    for entry in accepted:
        if not any(fnmatchcase(cause, entry.cause) for cause in glossary().causes):
            near = did_you_mean(entry.cause, sorted(glossary().causes), "causes")
            raise InputError(f"--known {path}: there is no cause {entry.cause}; {near}")
    if not all(str(each) for each in accepted):
        raise InputError(f"--known {path}: an entry without cause, group and culprit would mute everything.")
    return accepted
