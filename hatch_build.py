"""The README as an index shows it: its links lead to the repository, whose address `make release URL=…` gives."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# `[text](target)`, a picture with `!` before it; neither whole addresses nor places on the page.
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


class Readme(MetadataHookInterface):
    """Sets the description, and where a repository is named, its address."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put both into the metadata of wheel and sdist."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        if url := os.environ.get("PROJECT_URL", "").rstrip("/"):
            text = _LINK.sub(
                lambda link: f"{link[1]}[{link[2]}]({url}/{'raw' if link[1] else 'blob'}/HEAD/{link[3]})", text
            )
            metadata["urls"] = {"Source": url}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
