"""An error of the protocol is read as that error in whichever words a client or a broker prints it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rebalance_forensics.catalog.errors import ErrorNames
from tests.error_words import FORMS, error_words
from tests.rewording import KNOWN, catalog, words_of

Printed = tuple[str, str, str]
"""A client's message with another error in it; the event and the error that it states."""


def test_every_client_names_an_error_that_is_read_as_it() -> None:
    name = ErrorNames.of(catalog().compiled.errors).name
    assert [(words, name(words.text)) for words in error_words() if name(words.text) != words.error] == []


def printed() -> Iterator[Printed]:
    """Every message of a client that prints an error, with every error in every form of that client's."""
    for client in KNOWN.clients:
        speaker = client.name if client.name in FORMS else "Java"
        for words in words_of(client):
            placeholders = [placeholder for placeholder in words.placeholders if placeholder[:2] == ("error", "error")]
            for _, _, start, end in placeholders[:1] if len(placeholders) == 1 else ():
                for other in (words for words in error_words() if words.speaker == speaker):
                    message = words.prefix + words.message[:start] + other.text + words.message[end:]
                    yield message, words.event, other.error


@pytest.mark.parametrize("stride", [61, pytest.param(1, marks=pytest.mark.long)])
def test_a_message_with_another_error_states_the_same_of_that_one(stride: int) -> None:
    read = [(*each, catalog().match(each[0])) for each in [*printed()][::stride]]
    assert len(read) > 60_000 / stride
    assert [
        (message, event, error, match and match.fields)
        for message, event, error, match in read
        if match is None or (match.event, match.fields.get("error")) != (event, error)
    ] == []
