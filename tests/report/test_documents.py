"""What documents for programs look like, whatever a log line brought into them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rebalance_forensics.report.documents import Json, json_line, written

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda held: st.lists(held, max_size=3) | st.dictionaries(st.text(st.characters()), held, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_a_document_is_ascii_and_reads_back_as_it_was(value: Json) -> None:
    text = written({"field": value})
    assert text.isascii()
    assert not {*text} & {chr(control) for control in (*range(10), *range(11, 32), 127)}
    assert json.loads(text) == {"field": value}


def test_each_element_of_a_list_has_a_line_with_spaces_between_its_fields() -> None:
    text = written({"incidents": iter([{"id": 1, "of": [2, {}]}, {"id": "\u2028\x7f\ud800 \U0001f525"}]), "gaps": []})
    assert text == (
        '{\n"incidents": [\n{"id": 1, "of": [2, {}]},\n'
        '{"id": "\\u2028\\u007f\\ud800 \\ud83d\\udd25"}\n],\n"gaps": []\n}\n'
    )
    assert json_line({"id": [1, 2]}) == '{"id":[1,2]}'
