"""What the job says on standard error: sentences, or one line of JSON each with the fields of Spark's own logger."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from rebalance_forensics.report.plain_text import printable

LOGGER = "rebalance_forensics.job"


class Voice:
    """Speaks as text or as JSON."""

    def __init__(self, form: str = "text") -> None:
        self.form = form

    def say(self, level: str, sentence: str, **context: object) -> None:
        """One message; as text only warnings and errors are worth a line."""
        if self.form == "json":
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            entry = {"ts": now, "level": level, "logger": LOGGER, "msg": sentence, "context": context}
            sys.stderr.write(json.dumps(entry, default=str) + "\n")
        elif level != "INFO":
            harmless = "\n".join(map(printable, sentence.split("\n")))
            sys.stderr.write(f"rebalance-forensics: {harmless}\n")
        sys.stderr.flush()
