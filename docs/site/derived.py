"""The documents that are made of the product: `python -m docs.site.derived`, a step of `make fmt`, writes them anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.site import clients_page, events_page, known_bugs_page, tables_page
from rebalance_forensics.report.json_report import schema_text

DOCS = Path(__file__).parents[1]
DOCUMENTS: Mapping[str, Callable[[], str]] = {
    "clients.md": clients_page.document,
    "events.md": events_page.document,
    "known-bugs.md": known_bugs_page.document,
    "report.schema.json": schema_text,
    "tables.md": tables_page.document,
}
"""Name below docs/ -> its text."""


def main() -> None:
    """Write all of them."""
    for name, text in DOCUMENTS.items():
        (DOCS / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
