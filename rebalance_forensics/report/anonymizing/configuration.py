"""Configuration without names: values stay where they are numbers or words of Kafka's own."""

from __future__ import annotations

import re

from rebalance_forensics.report.anonymizing.pseudonyms import Pseudonyms

PRINTED = re.compile(r"((?:^|\n|\\n)(?:\t|\\t| )+[a-z][\w.-]+ = )([^\n\\]+)")
"""A line of a dump of settings, also where JSON escapes its line ends."""
WORD = re.compile(r"[^\s,\[\](){}'\"]+")
PUBLIC_CLASS = re.compile(
    r"(?:org\.apache\.|io\.confluent\.|io\.debezium\.|io\.strimzi\.|java\.|javax\.|kafka\.|com\.sun\.|org\.springframework\.)"
)
NO_NAME = re.compile(
    r"[-+]?[\d.:%]+\w{0,2}|[A-Z][A-Z_\d]*|TLSv[\d.]+|\w*(?:Range|RoundRobin|Sticky|Streams?Partition)Assignor|_\w+|\W+"
)
KAFKAS_WORDS = frozenset({
    *("true", "false", "null", "none", "class", "all", "hidden", "latest", "earliest", "by_duration"),
    *("read_committed", "read_uncommitted", "producer", "consumer", "classic", "streams", "share", "range"),
    *("uniform", "roundrobin", "cooperative-sticky", "sticky", "compatible", "eager", "sessioned"),
    *("use_all_dns_ips", "resolve_canonical_bootstrap_ips", "default", "https", "http", "gzip", "snappy"),
    *("lz4", "zstd", "uncompressed", "delete", "compact", "strict", "exactly_once", "exactly_once_v2"),
    *("exactly_once_beta", "at_least_once", "disabled", "enabled", "preparing", "bidirectional"),
    *("rebootstrap", "broker", "controller", "continue", "fail", "plain", "required", "requested", "SunX509"),
    *("PKIX", "AES/CBC/PKCS5Padding", "implicit", "explicit", "CreateTime", "LogAppendTime", "optimize"),
    *("sha-256", "sha-512", "metadata", "upgrade", "downgrade", "round_to_even"),
})  # fmt: skip


def without_values(text: str, names: Pseudonyms) -> str:
    """Rewrite the settings that a text prints line by line."""
    return (
        PRINTED.sub(lambda found: found.group(1) + setting_without_names(found.group(2), names), text)
        if " = " in text
        else text
    )


def setting_without_names(text: str, names: Pseudonyms) -> str:
    """Rewrite the value of one setting."""
    return WORD.sub(lambda found: _word(found.group(), names), text)


def _word(word: str, names: Pseudonyms) -> str:
    ours = word in KAFKAS_WORDS or PUBLIC_CLASS.match(word) or NO_NAME.fullmatch(word)
    return word if ours and word not in names.given else names.within_or_new(word, "value")
