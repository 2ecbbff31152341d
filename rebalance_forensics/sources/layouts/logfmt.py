"""logfmt, as logrus, slog and go-kit write it: `time="…" level=info msg="…" group=payments`."""

from __future__ import annotations

import re

from rebalance_forensics.sources.layouts.base import Parsed, level_of
from rebalance_forensics.sources.stamps import read_stamp

SAMPLE = 'time="2026-11-20T10:15:30Z" level=info msg="joined" group=payments generation=4'
REJECT = "timestamp of the last commit = 4"

_START = re.compile(r"(?:time|ts|t|timestamp|level|lvl)=\S")
_PAIR = re.compile(r'(?P<key>[\w.@-]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>\S*))')
_TIME, _LEVEL, _MESSAGE, _LOGGER = (
    ("time", "ts", "t", "timestamp"),
    ("level", "lvl"),
    ("msg", "message"),
    ("logger", "component"),
)


def _first(pairs: dict[str, str], keys: tuple[str, ...]) -> str | None:
    return next((pairs[key] for key in keys if key in pairs), None)


class _Logfmt:
    """Keys that are not the envelope's own follow the message as franz-go prints them: `msg; key: value`."""

    rank = 8
    starts = (b"time=", b"ts=", b"t=", b"level=", b"lvl=", b"timestamp=")

    def is_header(self, line: str) -> bool:
        """Whether a record starts with this line."""
        return (_START.match(line) is not None and " msg=" in line) or (
            _START.match(line) is not None and " message=" in line
        )

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        if not self.is_header(text):
            return None
        pairs = {
            m["key"]: m["bare"] if m["quoted"] is None else m["quoted"].replace('\\"', '"').replace("\\n", "\n")
            for m in _PAIR.finditer(text)
        }
        known = {*_TIME, *_LEVEL, *_MESSAGE, *_LOGGER, "caller", "source"}
        rest = ", ".join(f"{key}: {value}" for key, value in pairs.items() if key not in known)
        message = _first(pairs, _MESSAGE) or ""
        return Parsed(
            stamp=read_stamp(_first(pairs, _TIME) or ""),
            level=level_of(_first(pairs, _LEVEL)),
            logger=_first(pairs, _LOGGER),
            thread=None,
            message=f"{message}; {rest}" if rest else message,
        )


LAYOUT = _Logfmt()
