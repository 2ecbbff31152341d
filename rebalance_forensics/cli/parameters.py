"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class EngineName(StrEnum):
    """The engines that can run an analysis."""

    AUTO = "auto"
    SPARK = "spark"
    LOCAL = "local"


class SeverityName(StrEnum):
    """Severities of incidents, in ascending order."""

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
        help="spark: local Spark (needs Java); local: processes on this machine, without Spark; auto: Spark if a "
        "session is running or the input is large. The report is the same."
    ),
]
TzOption = Annotated[
    list[str],
    typer.Option(
        metavar="[HOST=]ZONE",
        help="Time zone of log times without one: Europe/Berlin, or broker-2=+02:00 for one host. Repeatable.",
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
        help="Treat each directory directly below PATH as a separate cluster.",
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
        help="Show only incidents ongoing at or after T: ISO 8601, 02:00 (latest, UTC), or 2h before the last line.",
        show_default=False,
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        metavar="T", help="Show only incidents that started before T; same format as --since.", show_default=False
    ),
]
UnpackRatioOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Stop unpacking a file at N times its compressed size: it may be a decompression bomb.",
    ),
]
JavaHomeOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Java installation for Spark, instead of JAVA_HOME or the one on PATH.", show_default=False
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option("--group", "-g", metavar="G", help="Report on this consumer group only.", show_default=False),
]
FailOnOption = Annotated[
    SeverityName | None,
    typer.Option(help="Exit with 1 if an incident of at least this severity was found.", show_default=False),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="F", help="Write the report as one self-contained HTML file.", show_default=False),
]
