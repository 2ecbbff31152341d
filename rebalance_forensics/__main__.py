"""The program: `python -m rebalance_forensics` and the console script."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from rebalance_forensics.defects import sentence
from rebalance_forensics.process import scratch, stop_signals

DEFECT = 70


def main() -> NoReturn:
    """Run the command that the arguments name."""
    try:
        with stop_signals.heeded():
            from rebalance_forensics.cli import program  # noqa: PLC0415 - Ctrl-C may come while it is still loading

            program.main(sys.argv[1:], job=_job)
    except KeyboardInterrupt:
        code = stop_signals.exit_code()
        _say(stop_signals.sentence())
    except Exception as error:  # noqa: BLE001 - it could not even be loaded; commands tell of their own errors
        code = DEFECT
        _say(f"{sentence('the program could not be loaded', error)}.")
    # Threads that still run must not be waited for, and print nothing more.
    scratch.forget()
    os._exit(code)


def _say(text: str) -> None:
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"rebalance-forensics: {text}\n")
        sys.stderr.flush()


def _job(arguments: Sequence[str]) -> int:
    from rebalance_forensics.job import main as run_job  # noqa: PLC0415 - the other commands need none of it

    return run_job(list(arguments))


if __name__ == "__main__":
    main()
