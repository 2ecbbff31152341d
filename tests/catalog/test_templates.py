from __future__ import annotations

import pytest

from rebalance_forensics.catalog.field_types import TYPES
from rebalance_forensics.catalog.program import compile_parts
from rebalance_forensics.catalog.template import Maybe, Placeholder, TemplateError, parse


def _read(template: str, message: str) -> dict[str, object] | None:
    found = compile_parts(parse(template), TYPES, {}).read(message, TYPES)
    return None if found is None else dict(found)


def test_literals_holes_and_optional_parts_come_apart() -> None:
    assert parse("Group {group:id} is dead[[, {why:text?}]]") == (
        "Group ",
        Placeholder("group", "id"),
        " is dead",
        Maybe((", ", Placeholder("why", "text", optional=True))),
    )


def test_double_braces_are_braces_of_the_message() -> None:
    assert _read("Generation{{generationId={generation:int}}}", "Generation{generationId=5}") == {"generation": 5}


def test_a_lone_brace_is_an_error_with_its_column() -> None:
    with pytest.raises(TemplateError, match=r"column 7"):
        parse("Group {")


def test_an_optional_part_must_close() -> None:
    with pytest.raises(TemplateError, match="never closes"):
        parse("Group [[dead")


def test_double_brackets_of_the_message_are_written_as_quoted_text() -> None:
    assert _read("partitions {'[['}{partitions:partitions}]]", "partitions [[a-0]]") == {"partitions": ("a-0",)}


def test_an_unknown_type_is_an_error_that_names_the_others() -> None:
    with pytest.raises(TemplateError, match="no field type is called 'grupp'"):
        compile_parts(parse("Group {group:grupp}"), TYPES, {})


def test_both_ends_are_anchored() -> None:
    assert _read("Group {group:id} is dead", "The Group g is dead") is None
    assert _read("Group {group:id} is dead", "Group g is dead again") is None


def test_a_dotted_group_id_keeps_its_dots_before_a_final_one() -> None:
    assert _read("in group {group:id}.", "in group orders.v2.") == {"group": "orders.v2"}


def test_lines_may_have_been_joined_into_one() -> None:
    template = "Updating with\n\tAssigned partitions: {assigned:partitions}\n\tRevoked: {revoked:partitions}\n"
    expected = {"assigned": ("a-0", "a-1"), "revoked": ()}
    assert _read(template, "Updating with\n\tAssigned partitions: [a-0, a-1]\n\tRevoked: []") == expected
    assert _read(template, "Updating with Assigned partitions: [a-0, a-1] Revoked: []") == expected


def test_blanks_at_the_end_of_a_line_may_have_been_cut() -> None:
    assert _read("Adding newly assigned partitions: {partitions:partitions}", "Adding newly assigned partitions:") == {
        "partitions": ()
    }


def test_a_choice_matches_only_its_words() -> None:
    assert _read("phase {phase:starting|started}", "phase started") == {"phase": "started"}
    assert _read("phase {phase:starting|started}", "phase stopped") is None
