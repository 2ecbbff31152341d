"""The host that a file comes from, by its name and directories."""

from __future__ import annotations

import re

_POD = re.compile(
    r"(?:^|/)(?P<namespace>[a-z0-9-]+)_(?P<pod>[a-z0-9][a-z0-9.-]*)_[0-9a-f-]{8,}/(?P<container>[^/]+)/\d+\.log"
)
_CONTAINER = re.compile(r"(?:^|/)(?P<pod>[a-z0-9][a-z0-9.-]*)_[a-z0-9-]+_[a-z0-9-]+?-[0-9a-f]{12,}\.log")
_MSK = re.compile(r"(?:^|/)(?P<host>Broker-\d+)_")
_SUFFIX = re.compile(
    r"(?:[.-]\d{4}-\d\d-\d\d(?:[-T.]\d\d(?:[-.:]?\d\d)?)?|[.-]\d{8}(?:-\d+)?|\.(?:log|out|err|txt"
    r"|json|jsonl|ndjson|csv|gz|bz2|xz|zst|lz4|zip|tar|tgz|\d{1,3})|-json)+\Z",
    re.IGNORECASE,
)
_GENERIC = re.compile(
    r"(?:\d+|var|log|logs?|app|apps|application|applications|server|servers?logs?|controller"
    r"|state-change|kafka|kafkaserver|kafka-?logs?|connect|streams?|client|clients?"
    r"|console|output|out|stdout|stderr|std|nohup|syslog|messages|daemon|export|exports|dump|data"
    r"|compose|docker-compose|docker|logcli|loki|elastic|splunk|tmp|home|root|opt|usr|srv|mnt"
    r"|input|inputs|results?|bundle|archive|incident|incidents|support|service|main|current|latest"
    r"|previous|old|new|default|broker|brokers|consumers?|producers?|workers?|nodes?|pods?"
    r"|containers?"
    r"|all|combined|merged|kafka-?connect|schema-?registry|spring|spring-?boot|spring-?app|demo|test"
    r"|sample|samples|file|files|archived?|rotated|download|downloads|desktop|documents|prod|dev"
    r"|staging|production|[0-9a-f]{32,})\Z",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"(?:server|kafka|app|application|connect|log|logs|console|stdout|container)[._-](?=[a-z]+[\w.-]*\d)", re.IGNORECASE
)


def is_generic(name: str) -> bool:
    """True for a name that many hosts or containers share: `kafka`, `app`, `broker`."""
    return _GENERIC.match(name) is not None


def _stem(name: str) -> str:
    return _SUFFIX.sub("", name)


def host_of(path: str) -> str | None:
    """The host in a path: a pod, a directory or a file name that is not generic."""
    for shape, group in ((_POD, "pod"), (_CONTAINER, "pod"), (_MSK, "host")):
        if match := shape.search(path):
            return match[group]
    *directories, name = path.replace("!/", "/").split("/")
    stem = _PREFIX.sub("", _stem(name))
    candidates = [*(_stem(directory) for directory in reversed(directories))]
    if stem and any(character.isdigit() for character in stem) and not _GENERIC.match(stem):
        candidates.insert(0, stem) if not directories or _GENERIC.match(_stem(directories[-1])) else candidates.append(
            stem
        )
    elif stem and not _GENERIC.match(stem):
        candidates.append(stem)
    return next((each for each in candidates if each and not _GENERIC.match(each) and not _dated(each)), None)


def _dated(name: str) -> bool:
    """True if a name is a date or an hour (`2026-11-20-10`, `dt=20261120`), not a host."""
    return re.fullmatch(r"(?:dt=|hour=|date=)?[\d._T:-]+", name) is not None
