"""A message that begins like one template may be of another one, whose words stand in a value: it is never missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from rebalance_forensics.catalog.compiled_catalog import CompiledCatalog, Entry
from rebalance_forensics.catalog.contenders import Contenders, Rivals
from rebalance_forensics.catalog.field_types import TYPES
from rebalance_forensics.catalog.index import Index, Place, Sieve
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.catalog.program import compile_parts
from rebalance_forensics.catalog.template import parse, weight_of

VALUES = {"int": "7", "bool": "true", "partitions": "[orders-0]", "assignment": "{a=[orders-0]}", "tasks": "[0_1]"}
CATALOG = Catalog.load()


def compiled() -> CompiledCatalog:
    return CATALOG.compiled


def others() -> Sequence[Place[Entry]]:
    return Contenders(compiled().entries).bare.rest.places


def texts(entry: Entry, value: str) -> Iterator[str]:
    """Messages of a template, each with this value in another one of its placeholders."""
    between, placeholders = entry.program.between, entry.program.placeholders
    for place in range(len(placeholders)):
        values = [value if at == place else VALUES.get(kind, "orders") for at, (_, kind) in enumerate(placeholders)]
        yield between[0] + "".join(said + behind for said, behind in zip(values, between[1:], strict=True))


def told_apart(entry: Entry) -> Iterator[tuple[str, bool, bool]]:
    """Messages of a template; whether rivals may win, asked of its values, and of the whole text."""
    places, types = others(), compiled().types()
    rivals = Rivals(entry, places, types)
    stronger = Sieve(place for place in places if place[1].weight >= entry.weight)
    lead = entry.program.lead
    for needle in sorted({place[2] for place in stronger.places}):
        for text in (*texts(entry, needle), *texts(entry, needle.split()[0] if needle.split() else "")):
            groups = entry.program.groups_of(text)
            if groups is not None:
                whole = [p for p in stronger.through(text) if p[3].startswith(lead) or lead.startswith(p[3])]
                yield text, rivals.may_win(text, groups), bool(whole)


def test_what_would_win_is_found_by_its_words_in_a_value_as_surely_as_in_the_whole_message() -> None:
    plain = [entry for entry in compiled().entries if entry.program.between[1:] and not entry.spells_prefix]
    asked = [one for entry in plain[:: len(plain) // 40] for one in told_apart(entry)]
    assert [text for text, found, whole in asked if found != whole] == []
    assert {whole for _, _, whole in asked} == {True, False}


def entry_of(text: str) -> Entry:
    parts = parse(text)
    program = compile_parts(parts, TYPES, {})
    return Entry("broker/x", None, (), (), weight_of(parts), spells_prefix=False, search_words=None, program=program)


@pytest.mark.parametrize("around", ["{}", "({})", "group={},"])
@pytest.mark.parametrize("kind", ["id", "text"])
def test_a_value_that_is_the_word_of_another_message_is_noticed_whatever_touches_it(around: str, kind: str) -> None:
    one = entry_of(f"I now {around.format(f'{{a:{kind}}}')} away")
    other = Index(
        (each, each.program) for each in (entry_of(f"{{x:id}} now {around.format(f'w{n}')} away") for n in range(20))
    )
    rivals = Rivals(one, other.rest.places, TYPES)
    found = [rivals.may_win(text, one.program.groups_of(text) or ()) for text in moved(around, ["w7", "v7", "w19"])]
    assert found == [True, False, True]


def moved(around: str, names: Sequence[str]) -> list[str]:
    return [f"I now {around.format(name)} away" for name in names]


def test_a_group_called_like_a_word_of_another_message_is_a_group() -> None:
    match = CATALOG.match("Stabilized group has generation 5 (__consumer_offsets-3) with 2 members")
    assert match is not None
    assert (match.pattern, match.group) == ("broker/generation-stabilized", "has")
