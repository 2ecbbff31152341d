"""docs/getting-logs.md: what each command prints is read, and the field that is named holds the line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from tests.sources.wrapping import WRAPPINGS, entries

TEXT = (ROOT / "docs" / "getting-logs.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in TEXT.partition("| tested as |\n")[2].partition("\n\n")[0].splitlines()[1:]
]
PLACES = {
    "kubectl", "stern", "docker compose", "journald", "Strimzi", "Confluent for Kubernetes", "Loki",
    "Elasticsearch, OpenSearch", "CloudWatch", "GCP", "Datadog", "Splunk",
}  # fmt: skip


def test_every_place_has_its_command() -> None:
    assert {place for place, *_ in ROWS} == PLACES


@pytest.mark.parametrize(("place", "command", "_field", "name"), ROWS, ids=[row[0] for row in ROWS])
def test_a_command_is_one_that_a_shell_takes_and_its_output_is_tested(
    place: str, command: str, _field: str, name: str
) -> None:
    assert len(shlex.split(command.strip("`"))) > 3, place
    assert name.strip("`") in WRAPPINGS, "tests/sources/test_exports.py reads each of these"


@pytest.mark.parametrize(
    ("field", "name"),
    [(found[1], row[3].strip("`")) for row in ROWS if (found := re.match(r"`([\w.\[\]]+)`", row[2]))],
)
def test_the_field_that_is_named_holds_the_line(field: str, name: str) -> None:
    first = entries()[0]
    document = json.loads(WRAPPINGS[name]([first]))
    held = list(at(document[0] if isinstance(document, list) else document, field.split(".")))
    assert held == [first[2]]


def at(value: object, path: list[str]) -> Iterator[object]:
    if not path:
        yield value
        return
    name = path[0].removesuffix("[]")
    assert isinstance(value, dict)
    inner = value[name]
    for one in inner if path[0].endswith("[]") else [inner]:
        yield from at(one, path[1:])
