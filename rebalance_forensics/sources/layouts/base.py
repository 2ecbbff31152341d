"""The base class of layouts, and expressions that the headers of many loggers share."""

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
"""A logger name with at least one dot."""
NESTING = r"[^\[\]=\n]++(?:\[[^\[\]=\n]*+\][^\[\]=\n]*+)++"
"""A thread in brackets whose name contains brackets, like Camel's, which include the topic."""

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
    # java.util.logging in the locale of its host.
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
    # Abbreviated levels: letters in glog, four characters in logrus, three or four in .NET's loggers and zerolog.
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
    """A parsed record; `host` is set if a field of the record itself names it.

    `uptime_ms` is how long the JVM had been running, if the record shows it; `pid` is its process id.
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
    """How a logger formats records: which lines start one, and where its fields are.

    Layouts of lower `rank` are tried first: specific ones before general ones. `starts` are the bytes that a first line
    can start with, for counting records in bulk.
    """

    rank: int
    starts: tuple[bytes, ...]

    def is_header(self, line: str) -> bool:
        """True if a record starts with this line."""
        return self.parse(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Parse a whole record; None if it does not have this layout."""
        raise NotImplementedError


class CodedLayout(Layout, frozen=True, kw_only=True):
    """A layout whose records a function parses."""

    read: Callable[[str], Parsed | None]

    def parse(self, text: str) -> Parsed | None:
        """The result of the function."""
        return self.read(text)


# Ranges of ranks have meanings beyond the order of attempts.
NOT_AN_ENVELOPE = range(60)
"""A header of such a layout cannot be mistaken for the prefix of an envelope."""
OWN_HEADER = range(65)
"""Layouts from rank 65 on also match lines with a collector's prefix."""
UNTIMED = range(80, 90)
"""The record starts with a level or one of Kafka's log prefixes, without a time."""
FALLBACK = 80
"""Layouts from this rank on have no distinctive header: a line starts a record if it has a level."""


@lru_cache(maxsize=256)
def level_of(word: str | None) -> str | None:
    """A level by its name in Kafka: INFO, WARN, ERROR, FATAL, DEBUG, TRACE."""
    if not word:
        return None
    upper = word.strip().upper()
    return _LEVELS.get(upper, upper) or None
