"""What a layout is, and the expressions that the headers of many loggers share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from rebalance_forensics.sources.times.timestamps import Stamp
from rebalance_forensics.sources.times.zones import ZONE

DATED = (
    r"(?:(?:\d{4}[-\u2013/.]\d\d[-\u2013/.]\d\d(?:[T _]|, ?)|\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d\d)(?:[ T]|, ?))"
    r"\d{1,2}:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?[AaPp]\.?[Mm]\b\.?)?"
    r"|20[1-9]\d[01]\d[0-3]\d[T -]?[0-2]\d:?[0-5]\d:?[0-5]\d(?:[.,]\d{1,9})?)"
    rf"(?: ?{ZONE})?"
)
CLOCK = r"\d\d:\d\d:\d\d[.,]\d{3,9}"
LEVEL = (
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|FATAL|CRITICAL|SEVERE|CONFIG|FINEST|FINER|FINE"
    r"|trace|debug|info|notice|warning|warn|error|fatal|critical|Trace|Debug|Info|Warning|Warn|Error|Fatal)"
)
LOGGER = r"[A-Za-z_$][\w$.\-/*]*"
DOTTED = r"[A-Za-z_](?=[\w$\-/*.]*?\.[A-Za-z_])[\w$.\-/*]*+"
"""A logger with a dot and a name behind it."""
NESTING = r"[^\[\]=\n]++(?:\[[^\[\]=\n]*+\][^\[\]=\n]*+)++"
"""A thread in brackets whose name has brackets of its own, as Camel calls its consumers' by their topics."""

_LEVELS = {
    "WARNING": "WARN",
    "SEVERE": "ERROR",
    "CRITICAL": "FATAL",
    "NOTICE": "INFO",
    "CONFIG": "INFO",
    "FINE": "DEBUG",
    "FINER": "TRACE",
    "FINEST": "TRACE",
    "ERR": "ERROR",
    "INFORMATION": "INFO",
    "PANIC": "FATAL",
    "DPANIC": "FATAL",
    "EMERG": "FATAL",
    "ALERT": "FATAL",
    "CRIT": "FATAL",
    "VERBOSE": "DEBUG",
    # java.util.logging in the language of its host.
    "WARNUNG": "WARN",
    "AVERTISSEMENT": "WARN",
    "ADVERTENCIA": "WARN",
    "AVVERTENZA": "WARN",
    "ADVERT\u00caNCIA": "WARN",
    "\u8b66\u544a": "WARN",
    "\uacbd\uace0": "WARN",
    "SCHWERWIEGEND": "ERROR",
    "GRAVE": "ERROR",
    "\u4e25\u91cd": "ERROR",
    "\u56b4\u91cd": "ERROR",
    "\u81f4\u547d\u7684": "ERROR",
    "\u91cd\u5927": "ERROR",
    "\uc2ec\uac01": "ERROR",
    "INFOS": "INFO",
    "INFORMACI\u00d3N": "INFO",
    "INFORMAZIONI": "INFO",
    "INFORMA\u00c7\u00d5ES": "INFO",
    "\u4fe1\u606f": "INFO",
    "\u8cc7\u8a0a": "INFO",
    "\u60c5\u5831": "INFO",
    "\uc815\ubcf4": "INFO",
    "LOG": "INFO",
    # glog's letters; logrus cuts to four, .NET's loggers and zerolog to three or four.
    "D": "DEBUG",
    "I": "INFO",
    "W": "WARN",
    "E": "ERROR",
    "F": "FATAL",
    "TRAC": "TRACE",
    "DEBU": "DEBUG",
    "ERRO": "ERROR",
    "FATA": "FATAL",
    "PANI": "FATAL",
    "TRCE": "TRACE",
    "DBUG": "DEBUG",
    "FAIL": "ERROR",
    "VRB": "TRACE",
    "TRC": "TRACE",
    "DBG": "DEBUG",
    "INF": "INFO",
    "WRN": "WARN",
    "FTL": "FATAL",
    "PNC": "FATAL",
}


class Parsed(Struct, frozen=True, kw_only=True, gc=False):
    """A record taken apart by its layout; `host` is the one that a field of the record itself names.

    `uptime_ms` is how long the JVM that wrote it had run, where it prints that; `pid` its process id.
    """

    stamp: Stamp | None
    level: str | None
    logger: str | None
    thread: str | None
    message: str
    host: str | None = None
    uptime_ms: int | None = None
    pid: int | None = None


class Layout(Struct, frozen=True, kw_only=True):
    """How a logger writes: which lines start a record, and where its fields stand.

    `rank` orders the layouts when a line is offered to all of them: specific ones first.
    `starts` are the bytes that a first line can begin with, for counting records in bulk.
    """

    rank: int
    starts: tuple[bytes, ...]

    def is_header(self, line: str) -> bool:
        """True if a record starts with this line."""
        return self.parse(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart; None when it is not of this layout."""
        raise NotImplementedError


class CodedLayout(Layout, frozen=True, kw_only=True):
    """A layout whose records a function takes apart."""

    read: Callable[[str], Parsed | None]

    def parse(self, text: str) -> Parsed | None:
        """What the function reads."""
        return self.read(text)


# What the rank of a layout says, beyond who is asked first.
NOT_AN_ENVELOPE = range(60)
"""What looks like a header of such a layout cannot be what an envelope puts in front of a line."""
OWN_HEADER = range(65)
"""From 65 on layouts also claim lines with what a collector put in front of them."""
UNTIMED = range(80, 90)
"""A level or Kafka's own prefix begins the record: there is no time."""
FALLBACK = 80
"""From this rank on layouts have no header of their own: what they read begins a record when it has a level."""


@lru_cache(maxsize=256)
def level_of(word: str | None) -> str | None:
    """A level in Kafka's own words: INFO, WARN, ERROR, FATAL, DEBUG, TRACE."""
    if not word:
        return None
    upper = word.strip().upper()
    return _LEVELS.get(upper, upper) or None
