"""Chooses the words of templates to search for in raw bytes: few, rare, and escaped by no envelope."""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORDS_IN_A_ROW = 4
# Parts of words that lines about groups share and others rarely contain, without the first letter, which may be a
# capital.
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

# Names in lines of every kind.
_EVERYWHERE = ("__consumer_offsets", "BrokerServer")
# Nine characters of rare words, or the equivalent with common ones.
_RARE = 34
_IDENTIFIER = re.compile(r"[a-z][A-Z]|__|[A-Z]{4}")


def offers(literals: Sequence[str]) -> frozenset[str]:
    """The words by which a template's lines could be found; empty if none is rare enough."""
    stretches = rare_among(stretches_of(literals))
    stems = {stem for stem in _STEMS if any(stem in stretch for stretch in stretches)}
    return frozenset(stems | {phrase for stretch in stretches for phrase in _phrases(stretch)})


def cover(offered: Sequence[frozenset[str]]) -> list[str | None]:
    """One of the offered words for each template, with few different words in total (greedy set cover)."""
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
    """Order words by how many templates they find, then by length: longer words are rarer."""
    return -found, -len(word), word


def _is_specific(phrase: str, *, alone: bool) -> bool:
    if any(name in phrase for name in _EVERYWHERE):
        return False
    return rarity(phrase) >= _RARE and (not alone or _IDENTIFIER.search(phrase) is not None)


def _phrases(stretch: str) -> Iterable[str]:
    """Rare sequences of words, and single words that look like identifiers."""
    words = list(re.finditer(r"\S+", stretch))
    for index, first in enumerate(words):
        for last in words[index : index + _WORDS_IN_A_ROW]:
            phrase = stretch[first.start() : last.end()]
            if SHORTEST <= len(phrase) <= _LONGEST and _is_specific(phrase, alone=last is first):
                yield phrase


# Any window of this length holds an aligned word of four bytes, which the scan without Hyperscan relies on.
SHORTEST = 7
_LONGEST = 32
_RARE_LETTERS = 4
# A pair of common words is rare: "Loaded member", "Kafka version:", "Starting task".
_COMMON_LETTERS = 12

# Characters that JSON, CSV and XML do not escape, unlike quotes, backslashes, angle brackets and line breaks.
_PLAIN = re.compile(r"[A-Za-z0-9 _.\-:(),\[\]]+")
# The key of a value outside the message, which JSON loggers quote.
_KEY = re.compile(r"[\s,]*\w+: ?")

# Words that lines about other things contain as well.
_COMMON = frozenset(
    """
    a an and are as at be been by can cannot could due error failed failure for from has have in info into is it its
    new no not of on one or since that the this to up was were while will with
    all already any because before after between during each every more most only other same some such than then these
    address api broker brokers byte bytes cleaner client clients closed closing code completed connection consumer
    controller correlation current data directory disk done elapsed end epoch exception existing expired external
    fetch fetcher file files finished first following group group. groups high id ids index internal kafka key last
    latest leader level line list listener load loaded loading local log logs manager max member members message
    messages metadata metrics milliseconds min ms name network node nodes null number offset offsets old open opened
    partition partitions path pool position previous producer quota read received record records recovery removed
    removing replica replicas request requests response retention role scheduled segment segments server session set
    size snapshot source start started starting state stopped stopping successfully task tasks thread threads time
    timeout topic topics total transaction type unknown update updated updating user using value values version
    watermark write writing zookeeper
    """.split()  # noqa: SIM905 - words read best as words
)


def words_to_search(literals: Iterable[str]) -> str | None:
    """The best words to search for in a template's literal text; None if all of them are common."""
    words = tuple(literals)
    own = words[1:] if words and words[0].startswith("[") else words
    return _best(own) or _best(words)


def stretches_of(literals: Iterable[str]) -> list[str]:
    """The parts of the literals that no envelope escapes."""
    return [stretch for literal in literals for stretch in _PLAIN.findall(literal)]


def rare_among(stretches: Iterable[str]) -> list[str]:
    """The words that can be searched for; the key of a value only if the message has nothing else."""
    rare = [stretch for stretch in stretches if len(stretch) >= SHORTEST and rarity(stretch) > 0]
    return [stretch for stretch in rare if not _KEY.fullmatch(stretch)] or rare


def _best(literals: Iterable[str]) -> str | None:
    return max(map(_cut, rare_among(stretches_of(literals))), key=rarity, default=None)


@lru_cache(maxsize=65536)
def rarity(stretch: str) -> int:
    """How unlikely it is in lines about other things: rare words count fully, common ones a quarter."""
    words = stretch.split()
    rare = sum(len(word) for word in words if _bare(word) not in _COMMON)
    common = sum(len(word) for word in words if _bare(word) in _COMMON)
    selective = rare >= _RARE_LETTERS or (common >= _COMMON_LETTERS and len(words) > 1)
    return rare * 4 + common if selective else 0


def _bare(word: str) -> str:
    return word.strip(".,:()[]-").lower()


def _cut(stretch: str) -> str:
    """The rarest part of at most `_LONGEST` characters, from a word boundary."""
    if len(stretch) <= _LONGEST:
        return stretch
    starts = [0] + [match.end() for match in re.finditer(" ", stretch)]
    windows = [stretch[start : start + _LONGEST] for start in starts if len(stretch) - start >= SHORTEST]
    return max(windows, key=rarity)
