"""The program: `python -m rebalance_forensics` and the console script."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from rebalance_forensics.defects import sentence
from rebalance_forensics.process import scratch, stop_signals

if TYPE_CHECKING:
    from rebalance_forensics.pipeline.options import Instant
    from rebalance_forensics.report.fleet import FleetTables

DEFECT = 70


def main() -> NoReturn:
    """Run the command in the arguments and exit the process."""
    try:
        with stop_signals.heeded():
            # Ctrl-C may arrive while these are still being imported.
            from rebalance_forensics.cli import program  # noqa: PLC0415
            from rebalance_forensics.cli.parts import Parts  # noqa: PLC0415

            program.main(sys.argv[1:], Parts(job=_job, fleet_tables=_fleet_tables))
    except KeyboardInterrupt:
        code = stop_signals.exit_code()
        _say(stop_signals.sentence())
    except Exception as error:  # noqa: BLE001 - the import failed; commands report their own errors
        code = DEFECT
        _say(f"{sentence('the program could not be loaded', error)}.")
    # Don't wait for running threads, and don't let them print anything.
    scratch.forget()
    os._exit(code)


def _say(text: str) -> None:
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"rebalance-forensics: {text}\n")
        sys.stderr.flush()


def _job(arguments: Sequence[str]) -> int:
    from rebalance_forensics.job import main as run_job  # noqa: PLC0415 - the other commands need none of it

    return run_job(list(arguments))


def _fleet_tables(uri: str, since: Instant | None) -> FleetTables:
    from rebalance_forensics.job.fleet_tables import fleet_tables  # noqa: PLC0415

    return fleet_tables(uri, since)


if __name__ == "__main__":
    main()
