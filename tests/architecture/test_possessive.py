"""No expression of ours is one that Python 3.11.0 to 3.11.4, Debian 12's among them, reads wrongly (CPython gh-106052).

Where a possessive repeat goes over something that can be read in more than one way, they forget where they stood:
`(?:ab?c)++` takes all of "aca".
The `regex` package and Python from 3.11.5 on are right; CI may run on one of those and never see it.
"""

from __future__ import annotations

import re
from re import _parser  # type: ignore[attr-defined]  # the only parser of exactly what `re` runs
from typing import Any

import pytest

from tests.architecture.test_backtracking import every_expression


def _is_misread(nodes: Any, *, repeated: bool = False) -> bool:  # noqa: ANN401 - sre has no types
    """Whether some possessive repeat goes over a choice."""
    return any(_node_is_misread(str(operation), value, repeated) for operation, value in nodes)


def _node_is_misread(operation: str, value: Any, repeated: bool) -> bool:  # noqa: ANN401, FBT001 - sre has no types
    match operation:
        case "BRANCH":
            return repeated or any(_is_misread(branch) for branch in value[1])
        case "GROUPREF_EXISTS":
            return repeated or any(_is_misread(branch) for branch in value[1:] if branch)
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, item = value
            return (repeated and least != most) or _is_misread(item, repeated=repeated)
        case "POSSESSIVE_REPEAT":
            return _is_misread(value[2], repeated=True)
        case "ATOMIC_GROUP":
            return _is_misread(value)
        case "SUBPATTERN":
            return _is_misread(value[3], repeated=repeated)
        case "ASSERT" | "ASSERT_NOT":
            return _is_misread(value[1])
    return False


def test_no_expression_is_misread_by_python_3_11_0_to_3_11_4() -> None:
    guilty = {
        where: expression.pattern
        for where, _, expression in every_expression()
        if _is_misread(_parser.parse(expression.pattern, expression.flags & ~re.DEBUG))
    }
    assert not guilty


@pytest.mark.parametrize("expression", [r"(?:ab?c)++", r"(?:\\.|[^\\])*+", r"(x(?:a|bc)){1,8}+", r"(?:(?=(?:a?b)++)c)"])
def test_a_possessive_repeat_over_a_choice_is_refused(expression: str) -> None:
    assert _is_misread(_parser.parse(expression))


@pytest.mark.parametrize("expression", [r"(?:a++b)++", r"(?:ab?c)+", r"[ab]*+", r"(?:a{3}b)?+", r"(?>ab?)c"])
def test_a_possessive_repeat_over_what_reads_in_one_way_is_not(expression: str) -> None:
    assert not _is_misread(_parser.parse(expression))
