"""docs/formats.md names what can be read, in the words of the modules that read it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from rebalance_forensics.sources import envelopes, layouts

DOCUMENT = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
MODULES = (*layouts.modules(), *envelopes.modules())


def row_of(module: ModuleType) -> str:
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    summary = (module.__doc__ or "").strip().split("\n")[0].replace("|", "\\|")
    return f"| `{name}` | {summary} |"


@pytest.mark.parametrize("module", MODULES, ids=[module.__name__.rpartition(".")[2] for module in MODULES])
def test_the_document_has_a_row_for_it(module: ModuleType) -> None:
    assert row_of(module) in DOCUMENT.splitlines()


def test_the_document_has_no_row_for_what_is_gone() -> None:
    rows = [line for line in DOCUMENT.splitlines() if line.startswith("| `")]
    assert len(rows) == len(MODULES)
