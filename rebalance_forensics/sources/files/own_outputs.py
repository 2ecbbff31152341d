"""What this program wrote itself: a report quotes log lines, and read as a log it would be a second witness to them."""

from __future__ import annotations

import re

_BEGINNINGS = re.compile(
    rb"""
      \{\s*"schema_version":\s*\d+,\s*"tool":\s*\{\s*"name":\s*"rebalance-forensics"      # --json
    | \{\s*"\$schema":[^{]*"runs":\s*\[\s*\{\s*"tool":\s*\{\s*"driver":\s*\{\s*"name":\s*"rebalance-forensics"
    | \{"routing_key":"[^"]*","dedup_key":"[^"]*","event_action":"[a-z]+","client":"rebalance-forensics"
    | \{"message":"[^\n]*"data_type":"kafka:group:rebalance"                              # timesketch
    | \{\s*"displayTimeUnit":\s*"ms",\s*"traceEvents":
    | \{\s*"text":\s*"[^\n]*\n\s*"blocks":\s*\[                                           # slack
    | \{"event":\ "[A-Za-z]+",\ "timestamp":\ [^\n]*"pattern":\ "[^\n]*"byte_offset":\ \d  # events
    | (?:id,)?cluster,group,(?:severity,started_at|generation,started_at|client_id,member_id|partition,client_id),
    | \#\ [^\n]*\n\n\|\ \|\ \|\n\|---\|---\|\n\|\ Incident\ \|\ [0-9a-f]+\ \|              # markdown
    | <!DOCTYPE\ html>\n[^\0]{0,4000}-\ rebalance-forensics</title>
    | (?:CRITICAL|WARNING|INFO)\ \ \S[^\n]*\ \ incident\ [0-9a-f]{12,16}\n                # the terminal's report, kept
    | No\ fault\ found:\ [\d,]+\ group
    """,
    re.VERBOSE,
)
_PARQUET = b"PAR1"
_TABLES = frozenset({"events", "generations", "pauses", "incidents", "incident_groups", "findings", "unread"})


def is_own_output(name: str, head: bytes) -> bool:
    """True if a file that begins so is a report, an export or a table of ours."""
    if head.startswith(_PARQUET):
        return name.rpartition("/")[2].removesuffix(".parquet") in _TABLES
    return _BEGINNINGS.match(head) is not None
