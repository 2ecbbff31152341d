"""Removes names from log text: known names anywhere, and names recognized by position or format."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator

from rebalance_forensics.report.anonymizing.pseudonyms import ADDRESS, NOBODY, TOKEN, UUID, Pseudonyms

# A line of a configuration, also if JSON escapes its line ends.
PRINTED = re.compile(r"((?:^|\n|\\n)(?:\t|\\t| )+[a-z][\w.-]+ = )([^\n\\]+)")
WORD = re.compile(r"[^\s,\[\](){}'\"]+")
CLASS_AS_VALUE = re.compile(
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
    """Rewrite the values of the settings in a text, one per line."""
    return (
        PRINTED.sub(lambda found: found.group(1) + setting_without_names(found.group(2), names), text)
        if " = " in text
        else text
    )


def setting_without_names(text: str, names: Pseudonyms) -> str:
    """Rewrite the value of one setting."""
    return WORD.sub(lambda found: _word(found.group(), names), text)


def _word(word: str, names: Pseudonyms) -> str:
    ours = word in KAFKAS_WORDS or CLASS_AS_VALUE.match(word) or NO_NAME.fullmatch(word)
    return word if ours and word not in names.given else names.within_or_new(word, "value")


KEYS = {
    "client": ("clientId", "client.id", "client id", "client-id"),
    "group": ("groupId", "group.id", "GroupId", "application.id", "group", "groupid"),
    "member": ("memberId", "member id", "MemberId", "leaderId", "leader"),
    "instance": ("instanceId", "group.instance.id", "groupInstanceId", "group instance id", "instance id"),
    "host": (
        "clientHost",
        "host",
        "hostname",
        "rack",
        "application.server",
        "bootstrap.servers",
        "advertised.listeners",
    ),
    "topic": ("topic", "topics"),
    "user": ("User", "principal", "username", "user"),
}
VALUE = r"""\s*[=:]\s*['"\[(]?/?([^\s,\]\[)('";}]+)"""
KEYED = {kind: re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, keys))}){VALUE}") for kind, keys in KEYS.items()}
# "Stabilized group payments", "Group payments is dead", "[GroupId payments]", "[Group payments]": as Kafka has them.
GROUP_IN_TEXT = re.compile(
    r"(?:\b(?:in|for|of|from|on|after|rebalance|Stabilized|Dynamic member|joins?|joined|left|synced|[Cc]onsumer|classic"
    r"|generic|share|streams|Provided|joining) group ['`]?|\[GroupId |\[MemberId |groupId=|\[Group (?=\S+\])"
    r"|\bGroup (?=\S+ (?:is|with|has|in|transitioned)\b))"
    r"([^\s,\]\[;:)({}'\"\\]+)"
)
TOPICS_IN_TEXT = re.compile(
    r"(?:topic\(s\):?|topics:?(?= \[)|subscription has changed from|beginning of the rebalance to|subscribed topics:?) "
    r"\[?([\w.-]+(?:, [\w.-]+)*)"
)
PARTITIONS_IN_TEXT = re.compile(r"\b[Pp]artitions?(?: set)?:? [\[(]?([\w.-]+-\d+(?:, ?[\w.-]+-\d+)*)")
METADATA_IN_TEXT = re.compile(r"(?<=[{ ])([\w.-]+)=\[(?=NO_RACKS|\[)")
HOST_AND_PORT = re.compile(r"(?<![\w./-])/?([A-Za-z][\w-]*(?:\.[\w-]+)*):(\d{4,5})\b")
SLASHED_ADDRESS = re.compile(r"/([\w.-]+)(?=[:\s,)\]'}])")
# With a port, an address of eight parts has nine.
IPV6 = re.compile(r"(?<![\w:.])[0-9a-fA-F:]{3,45}(?![\w:])")
LONGEST_PORT = 5
_HOST = r"[A-Za-z0-9][\w-]*(?:\.[\w-]+)*"
# "kafka-3.acme.internal/10.77.1.9": Java prints a host before its address.
HOST_BEFORE_ADDRESS = re.compile(rf"(?<![\w./-])({_HOST})/(?=\d{{1,3}}(?:\.\d{{1,3}}){{3}})")
# No setting of Kafka's ends like a domain: those of countries that do (group.id, max.poll.interval.ms) are left out.
DOMAIN = re.compile(
    r"(?<![\w.@-])((?:[A-Za-z0-9][\w-]*\.)+(?:internal|local|localdomain|localnet|lan|corp|intra|intranet|private|svc"
    r"|example|invalid|test|com|net|org|edu|gov|mil|io|dev|cloud|ai|eu|de|uk|fr|nl|ch|at|be|es|it|se|no|dk|fi|pl|cz"
    r"|us|ca|au|nz|jp|cn|kr|br|mx|ru|ie|pt|sg|hk|tw|za|il|tr))(?![\w-]|\.\w)",
    re.IGNORECASE,
)
HOST_IN_TEXT = re.compile(
    r"(?:\b[Hh]ost(?:name)?|\b[Bb]roker at|\b[Ss]erver at|\bresolve|UnknownHostException:|\bconnect(?:ing|ed|ion)? to) "
    rf"(?=[\w.-]*[\d.-])({_HOST})"
)
URL = re.compile(r"\w://(?:([^/\s:@]+)(?::([^/\s@]+))?@)?([\w.-]+)")
# A mail address, or a principal of Kerberos (`kafka/broker-7.acme.lan@ACME.LAN`).
MAIL = re.compile(r"(?<![\w.+/-])[\w.+-]+(?:/[\w.-]+)?@(?:[\w-]+(?:\.[\w-]+)+|[A-Z][A-Z-]+)\b")
# A part of a distinguished name (RFC 4514), as certificates and LDAP have it.
DISTINGUISHED = re.compile(
    r"((?:\b(?:CN|OU|DC|UID|EMAILADDRESS|SERIALNUMBER|STREET)|(?:(?<=[,+])|(?<=[,+] ))(?:O|L|ST|C))=)"
    r"([^,+=\n]+(?=\s*[,+]\s*[A-Za-z]{1,15}=)|[^\s,+=;\])}\"']+)"
)
# Kafka's own ids of clusters, topics and KIP-848 members: 16 bytes in base64, which mix letters and digits.
KAFKA_ID = re.compile(r"(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{22}(?![\w-])")
# Classes of the application, also as logback shortens them ("c.a.billing.Main"): they name its owner.
CLASS_IN_TEXT = re.compile(r"(?<![\w.$@-])(?:[a-z]\w{0,15}\.){1,8}[A-Z]\w*")
FRAME = re.compile(r"(?<=\bat )((?:[\w.-]*/{1,2})?)([\w.$]+)\.([\w$<>]+)\([\w$]+(\.\w+)(?=[:)])")
DIRECTORY = re.compile(
    r"(?:(?<![\w/.:])|(?<=file:))/(?:[\w.@+-]+/)+[\w.@+-]*|\b[A-Za-z]:\\(?:[^\\\s\"']+\\)*[^\\\s\"']*"
)
# Our own sentences start with a name or print its kind before it.
WORD_AS_NAME = re.compile(r"(?:^|\b(?:client|group|topic|instance|host|worker|connector|thread) )([\w-]+)")
PUBLIC_CLASS = re.compile(
    r"(?:java|javax|jakarta|jdk|sun|com\.sun|kafka|scala|kotlin|org\.apache|org\.springframework|org\.slf4j|io\.confluent"
    r"|io\.netty|io\.strimzi|io\.debezium|ch\.qos|com\.fasterxml|com\.google|reactor|o\.a|o\.s|i\.c|i\.n|k|j)\."
)
# A client id followed by a random id, as in member ids and names of Streams threads.
BEFORE_UUID = re.compile(rf"(?<![\w.-])(\w[\w.-]*?)-(?={UUID.pattern})", re.IGNORECASE)
FILE_ENDINGS = (".log", ".gz", ".java", ".scala", ".kt", ".txt", ".json", ".out", ".tgz", ".zip")
SPLIT_PATH = re.compile(r"([/\\])")
LONGEST_ENDING = 5
NOT_NAMES = frozenset({
    *("null", "None", "none", "true", "false", "id", "coordinator", "leader", "member", "members", "metadata", "epoch"),
    *("is", "has", "was", "with", "in", "generation", "protocol", "instance", "rebalance", "state", "the", "a", "at"),
    *("Optional", "Some", "Optional.empty", "kafka", "broker", "range", "sticky", "roundrobin", "DEAD", "localhost"),
})  # fmt: skip


def scrubbed(text: str, names: Pseudonyms, *, ours: bool = False) -> str:
    """Replace every name in a text, known or recognizable as one."""
    # `ours`: it is a sentence of ours, not a log line.
    _learn(_recognizable_names(text) if ours else _named_by_position(text), names)
    text = DISTINGUISHED.sub(lambda found: found.group(1) + names.of(found.group(2), "name"), text)
    text = without_values(names.literally(text), names)
    text = FRAME.sub(lambda found: _frame(found, names), text)
    text = DIRECTORY.sub(lambda found: _directory(found.group(), names), text)
    for pattern in (*KEYED.values(), GROUP_IN_TEXT, PARTITIONS_IN_TEXT, *([WORD_AS_NAME] if ours else [])):
        text = pattern.sub(lambda found: _word_as_name(found, names), text)
    text = UUID.sub(lambda found: names.within_or_new(found.group()) if _alone(found) else found.group(), text)
    text = IPV6.sub(lambda found: _address(found.group(), names), text)
    rewritten = TOKEN.sub(lambda found: _token(found.group(), names), text)
    return UUID.sub(lambda found: names.of(found.group(), "id"), rewritten)


def _frame(found: re.Match[str], names: Pseudonyms) -> str:
    loader, owner, method, ending = found.groups()
    if PUBLIC_CLASS.match(owner):
        return found.group()
    name = names.of(owner, "class")
    return f"{loader}{name}.{method}({name}{ending}"


def _directory(path: str, names: Pseudonyms) -> str:
    return "".join(_part_of_path(part, names) for part in SPLIT_PATH.split(path))


def _part_of_path(part: str, names: Pseudonyms) -> str:
    if len(part) <= 1 or part.endswith(":"):
        return part
    stem, dot, ending = part.rpartition(".")
    if dot and stem and len(ending) <= LONGEST_ENDING:
        return f"{names.within_or_new(stem, 'file')}.{ending}"
    return names.within_or_new(part, "directory")


def _word_as_name(found: re.Match[str], names: Pseudonyms) -> str:
    # Rename a name that equals a word of Kafka's, where only a name can stand.
    whole, word = found.group(), found.group(1).rstrip(".")
    stem = word.rpartition("-")[0] if word not in names.given else word
    if word in names.taken or stem not in NOBODY or stem not in names.given:
        return whole
    start = found.start(1) - found.start()
    return whole[:start] + names.given[stem] + whole[start + len(stem) :]


def _address(text: str, names: Pseudonyms) -> str:
    # Rename an IPv6 address, with or without a port; a time of day, which looks similar, stays.
    address, _, port = text.rpartition(":")
    if _is_ipv6(text):
        return names.of(text, "address")
    if _is_ipv6(address) and port.isdecimal() and len(port) <= LONGEST_PORT:
        return f"{names.of(address, 'address')}:{port}"
    return text


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _alone(found: re.Match[str]) -> bool:
    before = found.string[max(found.start() - 1, 0) : found.start()]
    after = found.string[found.end() : found.end() + 1]
    return not before.isalnum() and before not in ("-", "_", ".") and after not in ("-", "_")


def _token(token: str, names: Pseudonyms) -> str:
    bare = token.rstrip(".")
    if bare not in names.tokens:
        rewritten = _known_token(bare, names)
        names.tokens[bare] = rewritten
    return names.tokens[bare] + token[len(bare) :]


def _known_token(bare: str, names: Pseudonyms) -> str:
    rewritten = names.within(bare)
    if rewritten == bare and not PUBLIC_CLASS.match(bare) and names.holds_a_name(bare):
        rewritten = names.within_or_new(bare, "name")
    if rewritten == bare:
        rewritten = ADDRESS.sub(lambda found: names.of(found.group(), "address"), bare)
    return rewritten


def _topics(text: str) -> Iterator[str]:
    for match in TOPICS_IN_TEXT.finditer(text):
        yield from match.group(1).split(", ")
    for match in PARTITIONS_IN_TEXT.finditer(text):
        yield from (partition.strip().rpartition("-")[0] for partition in match.group(1).split(","))
    yield from (match.group(1) for match in METADATA_IN_TEXT.finditer(text))


def _named_by_position(text: str) -> Iterator[tuple[str, str]]:
    for kind, pattern in KEYED.items():
        yield from ((match.group(1), kind) for match in pattern.finditer(text))
    yield from ((match.group(1), "group") for match in GROUP_IN_TEXT.finditer(text))
    yield from ((match.group(1), "client") for match in BEFORE_UUID.finditer(text))
    yield from ((topic, "topic") for topic in _topics(text))
    yield from _recognizable_names(text)


def _recognizable_names(text: str) -> Iterator[tuple[str, str]]:
    yield from ((match.group(), "id") for match in KAFKA_ID.finditer(text))
    yield from ((match.group(), "class") for match in CLASS_IN_TEXT.finditer(text))
    yield from ((match.group(1), "host") for match in HOST_AND_PORT.finditer(text))
    yield from ((match.group(1), "host") for match in SLASHED_ADDRESS.finditer(text) if "." in match.group(1))
    yield from ((match.group(), "mail") for match in MAIL.finditer(text))
    for pattern in (HOST_BEFORE_ADDRESS, DOMAIN, HOST_IN_TEXT):
        yield from ((match.group(1), "host") for match in pattern.finditer(text))
    for user, password, host in URL.findall(text):
        yield from ((name, kind) for name, kind in ((user, "user"), (password, "value"), (host, "host")) if name)


def _learn(found: Iterable[tuple[str, str]], names: Pseudonyms) -> None:
    for name, kind in [*found]:
        bare = name.rstrip(".").rpartition("/")[2].partition(":")[0] if kind == "host" else name.rstrip(".")
        known = bare in names.given or names.within(bare) != bare
        ours = bare in NOT_NAMES or bare.isdigit() or bare.endswith(FILE_ENDINGS) or PUBLIC_CLASS.match(bare)
        if not known and not ours:
            names.of(bare, kind)
