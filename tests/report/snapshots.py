"""Readable snapshots: one plain file each, named by what it shows; UPDATE_SNAPSHOTS=1 writes them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def assert_same(name: str, text: str) -> None:
    """Compare a text with its snapshot; JSON is indented there."""
    path = FOLDER / name
    if path.suffix in (".json", ".sarif"):
        text = json.dumps(json.loads(text), indent=2) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no snapshot {name}; UPDATE_SNAPSHOTS=1 writes it, then read it"
    assert text == path.read_text(encoding="utf-8")
