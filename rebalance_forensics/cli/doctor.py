"""The commands `doctor` and `warmup`: show what a run would use, and prepare faster starts."""

from __future__ import annotations

from typing import Annotated

import typer

from rebalance_forensics.cli.outcomes import FOUND, OK, leave, say
from rebalance_forensics.cli.parameters import JavaHomeOption


def doctor(
    java_home: JavaHomeOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing; exit with 0 if Spark can run.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Check Java, Spark and the pattern matcher."""
    from rebalance_forensics.pipeline.health import examine  # noqa: PLC0415

    checks = examine(java_home)
    if not quiet:
        for check in checks:
            say(f"{'ok ' if check.well else '-- '} {check.part:<16} {check.finding}\n")
    leave(OK if all(check.well for check in checks if check.needed) else FOUND)


StopOption = Annotated[
    bool, typer.Option("--stop", help="Stop the Spark that --keep-warm left running.", show_default=False)
]


def warmup(*, java_home: JavaHomeOption = None, stop: StopOption = False) -> None:
    """Make later starts faster.

    Archives the JVM's classes and compiles the catalog. Run it once for each version of Java and Spark.
    """
    if stop:
        from rebalance_forensics.pipeline.spark import warm_server  # noqa: PLC0415

        say("stopped the warm Spark\n" if warm_server.stop() else "no warm Spark is running\n")
        leave(OK)
    from rebalance_forensics.pipeline.spark.warmup import warm_up  # noqa: PLC0415

    for sentence in warm_up(java_home):
        say(f"{sentence}\n")
    leave(OK)
