"""JSON lines that a viewer cut: what is left of the object is read, and what was cut off is marked."""

from __future__ import annotations

import json

import pytest

from rebalance_forensics.sources.pastes.cut_objects import closed, opened

WHOLE = '{"@timestamp":"2026-11-21T02:05:48.879Z","message":"[Consumer clientId=c, groupId=g] Request joining group"}'


def test_a_cut_within_the_message_ends_it_and_keeps_the_fields_after_it() -> None:
    text = '{"@timestamp":"2026-11-21T02:05:48.879Z","message":"Request joining group due to: ca \u2026 "level":"INFO"}'
    assert json.loads(closed(text)) == {
        "@timestamp": "2026-11-21T02:05:48.879Z",
        "message": "Request joining group due to: ca \u2026",
        "level": "INFO",
    }


@pytest.mark.parametrize("end", ["", " \u2026", "..."])
def test_an_object_that_ends_within_its_message_is_closed(end: str) -> None:
    text = f'{{"time":"2026-11-21T02:05:48Z","nested":{{"message":"ConsumerConfig values: \\n\\tclient.id = c{end}'
    message = json.loads(closed(text))["nested"]["message"]
    assert message == "ConsumerConfig values: \n\tclient.id = c \u2026"


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("{", "{{", 1),
        '{"a":1,"b',
        '{"a":',
        "{",
        '{"a":"ends with a backslash \\',
        WHOLE.replace('"}', '", and prose} \u2026 more prose'),
    ],
)
def test_what_is_no_cut_object_is_left_as_it_is(text: str) -> None:
    assert closed(text) == text or json.loads(closed(text))


@pytest.mark.parametrize("end", ["", ".", " `"])
def test_an_object_whose_first_brace_was_not_selected_gets_it_back(end: str) -> None:
    assert opened(WHOLE[1:] + end) == WHOLE + end


@pytest.mark.parametrize(
    "text", ['"payments": the group', '"a" and {"b": 1}', '"group.id": "payments", # which {one}?']
)
def test_a_sentence_that_begins_with_a_quote_is_no_object(text: str) -> None:
    assert opened(text) == text
