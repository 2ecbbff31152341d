"""Few words that find many templates: the fewer there are to look for, the faster a log is scanned."""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from rebalance_forensics.catalog.literals import SHORTEST, rare_among, rarity, stretches_of

_LONGEST = 32
_WORDS_IN_A_ROW = 4
_STEMS = (
    *"""
    ebalanc oordinator ssignment ssignor ssigned eartbeat onnector eneration hutdown opology ejoining
    GroupId oinGroup eaveGroup yncGroup GroupHeartbeat OffsetCommit ConsumerGroup lassicGroup
    uto-commit ubscrib isconnect mbership econciliation evoking evocation emberId erminating Incarnation
    StreamThread KafkaStreams KafkaConsumer TaskManager MetadataManager MirrorMaker SRMSG182
    estoring estoration orrupted uthoriz uthentic dvertis standby
    """.split(),  # noqa: SIM905 - words read best as words
    *(" group ", "group id", "oin group", "oin-group", "eave group", "ync group", "generic group", "roker: "),
    *("hutting down", "shut down", " fenced", " uncaught", "Uncaught ", "imed out", "ISR from", "ersion updated to"),
    *("afka Connect", "afka version", "onfig values:", "onsumer has", "onsumer stopped", "Herder "),
)
"""Parts of words that lines about groups share and others hardly have; the first letter, maybe a capital, left out."""

_EVERYWHERE = ("__consumer_offsets", "BrokerServer")
"""Names that lines of every kind have, whatever a broker does with that topic's partitions or its own parts."""
_RARE = 34
"""Nine letters of rare words, or as much with common ones."""
_IDENTIFIER = re.compile(r"[a-z][A-Z]|__|[A-Z]{4}")


def offers(literals: Sequence[str]) -> frozenset[str]:
    """The words by which a template's line could be found; none where nothing in it is rare enough."""
    stretches = rare_among(stretches_of(literals))
    stems = {stem for stem in _STEMS if any(stem in stretch for stretch in stretches)}
    return frozenset(stems | {phrase for stretch in stretches for phrase in _phrases(stretch)})


def cover(offered: Sequence[frozenset[str]]) -> list[str | None]:
    """For each template one of the words it offers, as few different ones in all as can be found quickly."""
    finds: dict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(offered):
        for word in words:
            finds[word].append(number)
    chosen: list[str | None] = [None] * len(offered)
    queue = [_place(word, len(numbers)) for word, numbers in finds.items()]
    heapq.heapify(queue)
    while queue:
        hoped, _, word = heapq.heappop(queue)
        left = [number for number in finds[word] if chosen[number] is None]
        if left and len(left) < -hoped:
            heapq.heappush(queue, _place(word, len(left)))
        for number in left if len(left) == -hoped else ():
            chosen[number] = word
    return chosen


def _place(word: str, found: int) -> tuple[int, int, str]:
    """What finds most comes first, of those the longest: the longer, the rarer."""
    return -found, -len(word), word


def _is_telling(phrase: str, *, alone: bool) -> bool:
    if any(name in phrase for name in _EVERYWHERE):
        return False
    return rarity(phrase) >= _RARE and (not alone or _IDENTIFIER.search(phrase) is not None)


def _phrases(stretch: str) -> Iterable[str]:
    """Rare words in a row, and single words that read like names in code."""
    words = list(re.finditer(r"\S+", stretch))
    for index, first in enumerate(words):
        for last in words[index : index + _WORDS_IN_A_ROW]:
            phrase = stretch[first.start() : last.end()]
            if SHORTEST <= len(phrase) <= _LONGEST and _is_telling(phrase, alone=last is first):
                yield phrase
