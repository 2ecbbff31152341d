"""Options that several commands share, each explained once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class EngineName(StrEnum):
    """Where the stages run."""

    AUTO = "auto"
    SPARK = "spark"
    LOCAL = "local"


class SeverityName(StrEnum):
    """From benign to broken."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Log files, directories or archives (.gz, .zst, .tar.gz, .zip, …); - reads standard input.",
        show_default=False,
    ),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        help="spark: a local Spark (needs Java); local: this machine's cores without Spark; auto: Spark where one "
        "runs already or there is much to read. The report is the same."
    ),
]
TzOption = Annotated[
    list[str],
    typer.Option(
        metavar="[HOST=]ZONE",
        help="Time zone of log times that name none: Europe/Berlin, or broker-2=+02:00 for one host. Repeatable.",
        show_default=False,
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of the Kafka cluster the logs are from.", show_default=False),
]
ClusterPerDirectoryOption = Annotated[
    bool,
    typer.Option(
        "--cluster-per-directory",
        help="Each directory directly below PATH is a cluster of its own.",
        show_default=False,
    ),
]
PatternsOption = Annotated[
    list[Path],
    typer.Option(
        metavar="DIR",
        help="A directory of your own patterns, used in addition to the shipped ones.",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        metavar="T",
        help="Show only what was going on at or after T: ISO 8601, 02:00 (UTC, latest), or 2h before the last line.",
        show_default=False,
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option(metavar="T", help="Show only what began before T, written like --since.", show_default=False),
]
UnpackRatioOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="A packed file may unpack to N times its size before it is taken for a decompression bomb.",
    ),
]
JavaHomeOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="The Java to run Spark on, instead of JAVA_HOME or the one on PATH.", show_default=False
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option("--group", "-g", metavar="G", help="Report on this consumer group only.", show_default=False),
]
FailOnOption = Annotated[
    SeverityName | None,
    typer.Option(help="Exit with 1 when an incident of this severity or a worse one was found.", show_default=False),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="F", help="Write the report as one self-contained HTML file.", show_default=False),
]
