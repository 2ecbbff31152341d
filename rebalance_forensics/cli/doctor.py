"""`doctor` and `warmup`: what a run would use, and how to start faster."""

from __future__ import annotations

from typing import Annotated

import typer

from rebalance_forensics.cli.outcomes import FOUND, OK, leave, say
from rebalance_forensics.cli.parameters import JavaHomeOption


def doctor(
    java_home: JavaHomeOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the exit code: 0 when Spark can run.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Show which Java, Spark and matcher are used or missing."""
    from rebalance_forensics.pipeline.health import examine  # noqa: PLC0415

    checks = examine(java_home)
    if not quiet:
        for check in checks:
            say(f"{'ok ' if check.well else '-- '} {check.part:<16} {check.finding}\n")
    leave(OK if all(check.well for check in checks if check.needed) else FOUND)


StopOption = Annotated[
    bool, typer.Option("--stop", help="End the Spark that --keep-warm left running.", show_default=False)
]


def warmup(*, java_home: JavaHomeOption = None, stop: StopOption = False) -> None:
    """Prepare a faster start, once for this Java and Spark.

    Archives the JVM's classes and compiles the catalog.
    """
    if stop:
        from rebalance_forensics.pipeline.spark import warm_server  # noqa: PLC0415

        say("the Spark that was kept warm: ended\n" if warm_server.stop() else "no Spark was kept warm\n")
        leave(OK)
    from rebalance_forensics.pipeline.spark.warmup import warm_up  # noqa: PLC0415

    for sentence in warm_up(java_home):
        say(f"{sentence}\n")
    leave(OK)
