"""A template filled with fields matches back to the same fields."""

from __future__ import annotations

import string
from functools import cache
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.catalog.program import IGNORED, Program, Types
from rebalance_forensics.catalog.template import Part, Placeholder, parse
from tests.shipped import shipped

_LETTERS = string.ascii_letters + string.digits
_IDS = st.text(_LETTERS + "-_", min_size=1, max_size=30).filter(lambda text: text not in ("None", "null"))
_PARTITIONS = st.lists(st.builds("{}-{}".format, _IDS, st.integers(0, 99)), max_size=4, unique=True)

# Each type's values with how Kafka may print them.
_PRINTED: dict[str, st.SearchStrategy[tuple[FieldValue, str]]] = {
    "id": _IDS.map(lambda text: (text, text)),
    "text": _IDS.map(lambda text: (text, text)),
    "word": _IDS.map(lambda text: (text, text)),
    "int": st.integers(-1, 2**40).map(lambda number: (number, str(number))),
    "bool": st.booleans().map(lambda truth: (truth, str(truth).lower())),
    "option": _IDS.flatmap(lambda text: st.sampled_from([(text, f"Some({text})"), (text, f"Optional[{text}]")])),
    "partitions": _PARTITIONS.map(lambda names: (tuple(names), f"[{', '.join(names)}]")),
    "ids": st.lists(_IDS, min_size=1, max_size=4).map(lambda names: (tuple(names), f"Set({', '.join(names)})")),
    "epoch_ms": st.integers(0, 2**41).map(lambda number: (number, str(number))),
}


@cache
def _catalog() -> Catalog:
    return shipped().catalog()


@cache
def _types() -> Types:
    return _catalog().compiled.types()


@cache
def _fillable() -> list[tuple[tuple[Part, ...], Program]]:
    """Templates whose placeholders have a type above and words between them, nothing optional and no name twice."""
    texts = [template.text for pattern in shipped().sound if not pattern.fragment for template in pattern.templates]
    parsed = [(parse(text), entry.program) for text, entry in zip(texts, _catalog().compiled.entries, strict=True)]
    return [(parts, program) for parts, program in parsed if _is_fillable(parts)]


def _is_fillable(parts: tuple[Part, ...]) -> bool:
    placeholders = [part for part in parts if isinstance(part, Placeholder)]
    plain = all(isinstance(part, str) or (isinstance(part, Placeholder) and part.type in _PRINTED) for part in parts)
    apart = all(isinstance(placeholder, str) or _ends(following) for placeholder, following in pairwise(parts))
    names = [placeholder.name for placeholder in placeholders if placeholder.name != IGNORED]
    return (
        bool(placeholders)
        and plain
        and apart
        and len(names) == len(set(names))
        and not any(placeholder.optional for placeholder in placeholders)
    )


def _ends(part: Part) -> bool:
    """Whether these words cannot be taken for more of the value before them."""
    return isinstance(part, str) and part[0] not in _LETTERS + "-_"


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_a_filled_template_matches_back_to_the_same_fields(data: st.DataObject) -> None:
    parts, program = data.draw(st.sampled_from(_fillable()))
    message = ""
    filled: dict[str, FieldValue] = {**program.constants}
    for part in parts:
        if isinstance(part, str):
            message += part
        elif isinstance(part, Placeholder):
            value, printed = data.draw(_PRINTED[part.type])
            message += printed
            if part.name != IGNORED:
                filled[part.name] = value
    assert program.read(message.rstrip(), _types()) == filled


def test_most_templates_take_part() -> None:
    assert len(_fillable()) > len(_catalog().compiled.entries) / 3
