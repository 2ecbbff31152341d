"""docs/formats.md names what can be read, in the words of the files that describe it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.sources import envelopes, layouts

DOCUMENT = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
FORMATS = [*layouts.definitions().items(), *envelopes.definitions().items()]
ROWS = [f"| `{name}` | {file.about.replace('|', chr(92) + '|')} |" for name, file in FORMATS]


@pytest.mark.parametrize("row", ROWS)
def test_the_document_has_a_row_for_each_format(row: str) -> None:
    assert row in DOCUMENT.splitlines()


def test_the_document_has_no_row_for_a_format_that_is_not_read() -> None:
    assert sorted(line for line in DOCUMENT.splitlines() if line.startswith("| `")) == sorted(ROWS)
