"""The `patterns` commands: list and check the catalog, and match lines against it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from rebalance_forensics.cli.analysis_run import catalog_with
from rebalance_forensics.cli.examples import examples
from rebalance_forensics.cli.outcomes import FOUND, leave, say, warn
from rebalance_forensics.cli.parameters import PatternsOption
from rebalance_forensics.pipeline.refusals import InputError

app = typer.Typer(
    help="List, check and query the catalog of log messages.",
    epilog=examples("patterns"),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list", epilog=examples("patterns list"))
def list_patterns(patterns: PatternsOption = []) -> None:  # noqa: B006 - typer reads the default and makes a new list
    """List every pattern with its event and what the line means."""
    compiled = catalog_with(patterns).compiled
    event_of = {entry.pattern: entry.event for entry in compiled.entries}
    for pattern, meaning in sorted(compiled.meanings.items()):
        if pattern in event_of:
            say(f"{pattern:<48} {event_of[pattern] or '-':<28} {meaning}\n")
    leave(0)


@app.command(epilog=examples("patterns check"))
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Pattern files or directories; the shipped ones if none is named.", metavar="FILE", show_default=False
        ),
    ] = None,
) -> None:
    """Check patterns against their own samples and rejects.

    Each sample must match its own pattern and no other.
    """
    from rebalance_forensics.catalog.loader import pattern_files, shipped_patterns  # noqa: PLC0415
    from rebalance_forensics.catalog.pattern_checks import check as problems_of  # noqa: PLC0415
    from rebalance_forensics.report.wording import count  # noqa: PLC0415

    for path in files or []:
        if not path.exists():
            raise InputError(f"{path}: no such file or directory.")
    checked = files or [shipped_patterns()]
    problems = problems_of(checked)
    for problem in problems:
        say(f"{problem}\n")
    if problems:
        leave(FOUND)
    number = sum(len(pattern_files([path])) if path.is_dir() else 1 for path in checked)
    warn(f"checked {count(number, 'pattern')}: all samples match, no rejects do.")
    leave(0)


@app.command(epilog=examples("patterns match"))
def match(patterns: PatternsOption = []) -> None:  # noqa: B006
    """Match raw log lines against the catalog; prints one line of JSON each.

    Reads standard input. A line that matches no pattern gives `null`. `event` is null if the line is
    recognized but has nothing to do with consumer groups.
    """
    from rebalance_forensics.sources.records.record_reader import parse_line  # noqa: PLC0415

    catalog = catalog_with(patterns)
    for raw in sys.stdin.buffer:
        record = parse_line(raw.decode(errors="replace").rstrip("\r\n"))
        found = catalog.match(record.message, logger=record.logger, level=record.level)
        fields = None if found is None else {**({"group": found.group} if found.group else {}), **found.fields}
        answer = None if found is None else {"pattern": found.pattern, "event": found.event, "fields": fields}
        say(json.dumps(answer) + "\n")
    leave(0)
