"""`python -m benchmarks.statements STATEMENTS.csv`: match all statements with the catalog and write RESULTS.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.statements.asking import ask
from benchmarks.statements.reading import read_statements
from benchmarks.statements.results import page, share
from rebalance_forensics.catalog.matcher import Catalog

WANTED = 0.95


def main() -> int:
    """Write the page; returns exit code 1 if too many statements are unknown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statements", description=__doc__)
    parser.add_argument("statements", type=Path, help="CSV with a row for each log statement of Kafka's source")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    asked = parser.parse_args()
    if not asked.statements.is_file():
        parser.error(f"{asked.statements}: no such file")
    releases, statements = read_statements(asked.statements)
    answers = ask(Catalog.load(), statements)
    asked.out.write_text(page(releases, answers), encoding="utf-8")
    print(f"{100 * share(answers):.1f} % of {len(answers)} statements matched; wrote {asked.out}")
    return 0 if share(answers) >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
