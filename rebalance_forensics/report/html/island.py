"""Data inside the page, for its script: JSON that cannot end the element it stands in."""

from __future__ import annotations

import json

from markupsafe import Markup

from rebalance_forensics.report.documents import Json

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def island(document: Json) -> Markup:
    """Write a document so that no text in it can close the script element or open a comment."""
    # ensure_ascii covers U+2028 and U+2029 as well, which once ended a line of JavaScript.
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)  # noqa: S704 (every character that HTML gives a meaning is escaped above)
