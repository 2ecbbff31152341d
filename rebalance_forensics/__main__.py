"""The program: `python -m rebalance_forensics` and the console script."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from rebalance_forensics import cli


def main() -> NoReturn:
    """Run the command that the arguments name."""
    cli.main(sys.argv[1:], job=_job)


def _job(arguments: Sequence[str]) -> int:
    from rebalance_forensics.job import main as run_job  # noqa: PLC0415 - the other commands need none of it

    return run_job(list(arguments))


if __name__ == "__main__":
    main()
