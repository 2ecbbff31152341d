"""What people put around lines changes nothing of what a client logged in them, whichever client it is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze_with_events
from tests.shipped import document

PATTERNS = Path(__file__).parents[2] / "patterns"
CLIENTS = (
    "connect",
    "consumer",
    "erlang",
    "franz_go",
    "kafka_go",
    "librdkafka",
    "node",
    "php",
    "python",
    "ruby",
    "sarama",
    "schema_registry",
)
Mark = Callable[[Sequence[str]], str]


def each(before: str, behind: str = "") -> Mark:
    return lambda lines: "".join(f"{before}{line}{behind}\n" for line in lines)


MARKS: dict[str, Mark] = {
    "a fence": lambda lines: "See:\n\n```\n" + each("")(lines) + "```\n",
    "a fence without lines of its own": lambda lines: "```" + "\n".join(lines) + "```\n",
    "inline code": each("`", "`"),
    "bullets": each("* "),
    "bullets without a blank": each("*"),
    "dashes": each("- "),
    "bold": each("**", "**"),
    "emphasis": each("*", "*"),
    "a quote": each("> "),
    "a quote without a blank": each(">"),
    "a tab": each("\t"),
    "a blank": each(" "),
    "indented code": each("    "),
    "blanks behind": each("", "  "),
}


AGENTS: dict[str, Callable[[str, str], str]] = {
    "logfmt": lambda time, line: f"time={time} level=info svc=shop msg={json.dumps(line)} pod=shop-6d5f-abcde",
    "logfmt without a time": lambda time, line: f"svc=shop lvl=info line={json.dumps(line)}",  # noqa: ARG005
    "JSON": lambda time, line: json.dumps({"ts": time, "level": "info", "svc": "shop", "msg": line, "group": "shop"}),
    "JSON of a shipper": lambda time, line: json.dumps({"@timestamp": time, "svc": "shop", "message": line}),
}
"""What passes a process's output on, with fields of its own."""


def samples_of(client: str) -> list[str]:
    """Messages of a client; what ends with a back-tick of its own may lose it to a mark."""
    found = [
        sample["message"] for path in sorted((PATTERNS / client).glob("*.yaml")) for sample in document(path)["samples"]
    ]
    return [message for message in found if "\n" not in message and not message.endswith(("`", "*"))][:30]


def read(text: str, directory: Path, name: str = "paste.txt") -> Counter[str]:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    rows = analyze_with_events([str(path)], AnalyzeOptions(engine="local"), keep_events=True).events.to_pylist()
    return Counter(row["pattern"] for row in rows)


@pytest.mark.parametrize("dated", [True, False], ids=["with a header", "bare"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_clients_lines_are_read_the_same_after_any_mark(client: str, dated: bool, tmp_path: Path) -> None:  # noqa: FBT001
    lines = samples_of(client)
    if dated:
        lines = [f"2026-11-20 10:15:{second:02},123 INFO kafka: {line}" for second, line in enumerate(lines)]
    plain = read(each("")(lines), tmp_path)
    # PHP's samples are errors alone: such a list without a time, a level or a name is documentation and nobody's log.
    assert bool(plain) == (dated or client != "php")
    lost = {name: plain - read(mark(lines), tmp_path) for name, mark in MARKS.items()}
    assert {name: missing for name, missing in lost.items() if missing} == {}


@pytest.mark.parametrize("headed", [True, False], ids=["with its header", "its message alone"])
def test_fields_that_an_agent_adds_to_a_line_change_nothing_in_it(tmp_path: Path, headed: bool) -> None:  # noqa: FBT001
    messages = [message for client in CLIENTS for message in samples_of(client)[::3]]
    times = [f"2026-11-20T10:{second // 60:02}:{second % 60:02}.123Z" for second in range(len(messages))]
    headers = [f"{time.replace('T', ' ').replace('.', ',').rstrip('Z')} INFO [main] kafka.Client - " for time in times]
    plain = read(each("")([h + m for h, m in zip(headers, messages, strict=True)]), tmp_path, "app.log")
    assert plain.total() > len(messages) / 2
    lost = {}
    for name, agent in AGENTS.items():
        if headed or "without a time" not in name:
            inside = [h + m if headed else m for h, m in zip(headers, messages, strict=True)]
            text = each("")([agent(time, line) for time, line in zip(times, inside, strict=True)])
            found = read(text, tmp_path, "app.log")
            lost[name] = plain - found, found - plain
    assert {name: different for name, different in lost.items() if any(different)} == {}
