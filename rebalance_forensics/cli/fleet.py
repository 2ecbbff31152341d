"""The `fleet` command: shows incidents of all groups over weeks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli import parameters
from rebalance_forensics.cli.outcomes import OK, PARTIAL, leave, warn_all
from rebalance_forensics.pipeline.options import parse_instant

if TYPE_CHECKING:
    from rebalance_forensics.cli.parts import Parts


def fleet(
    context: typer.Context,
    tables: Annotated[str, typer.Argument(metavar="TABLES", help="The --output of the job: a directory or a URI.")],
    *,
    html: parameters.HtmlOption = None,
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
            help="Start at T: ISO 8601, or 14d before the end of the last run. Default: 28d.",
            show_default=False,
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Mute the accepted incidents listed in FILE (docs/running-on-a-cluster.md).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show weeks of incidents from the tables of the job.

    Groups by unread time and rebalances, causes per week, culprits, recurring faults, and changes.
    """
    from rebalance_forensics.cli import fleet_outputs  # noqa: PLC0415

    exports = [fleet_outputs.export_of(each) for each in export]
    fleet_outputs.check(html, exports)
    accepted = fleet_outputs.known_of(known) if known else ()
    parts: Parts = context.find_root().obj
    read = parts.fleet_tables(tables, parse_instant(since) if since else None)
    fleet_outputs.write(read, accepted, html, exports)
    warn_all(read.unreadable)
    leave(PARTIAL if read.unreadable else OK)
