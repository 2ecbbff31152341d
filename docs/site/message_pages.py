"""A page for every message of Kafka's that the catalog knows: what the line means, by release, and when to worry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from docs.site.markdown import block, code, page, slug, table
from docs.site.recorded import Recorded
from rebalance_forensics.catalog.loader import load_all, pattern_files, shipped_patterns
from rebalance_forensics.catalog.pattern import Pattern, Sample, Template
from rebalance_forensics.catalog.template import Maybe, Part, Placeholder, parse
from rebalance_forensics.report.wording import count

SPEAKERS = {
    "broker": "Brokers",
    "consumer": "Java consumers",
    "streams": "Kafka Streams",
    "connect": "Kafka Connect",
    "librdkafka": "librdkafka",
    "sarama": "Sarama",
    "franz-go": "franz-go",
    "kafka-go": "kafka-go",
    "node": "Node.js clients",
    "python": "Python clients",
    "erlang": "Erlang clients",
    "ruby": "Ruby clients",
    "php": "PHP clients",
    "process": "Any process",
    "jvm": "JVMs",
    "host": "Kernels and supervisors",
    "kubernetes": "Kubernetes and Docker",
    "schema-registry": "Schema Registry",
}
MOST = 5


@cache
def patterns() -> tuple[Pattern, ...]:
    """Every message of the shipped catalog; fragments are parts of messages."""
    return tuple(one for one in load_all(pattern_files([shipped_patterns()])).patterns if one.fragment is None)


def pages(shown: Recorded) -> Iterator[tuple[str, str]]:
    """Path and text of each."""
    known = {one.id: one for one in patterns()}
    yield "messages/index.md", _overview(known.values())
    for speaker in SPEAKERS:
        mine = [one for one in known.values() if speaker_of(one) == speaker]
        if mine:
            yield f"messages/{slug(speaker)}/index.md", _index(speaker, mine)
    for one in known.values():
        yield path_of(one), _message(one, known, shown)


def path_of(pattern: Pattern) -> str:
    """`broker/quiet/x_y` becomes `messages/broker/quiet-x-y.md`."""
    speaker, _, name = pattern.id.partition("/")
    return f"messages/{slug(speaker)}/{slug(name.replace('/', '-'))}.md"


def speaker_of(pattern: Pattern) -> str:
    """Who logs it: the first part of its id."""
    return pattern.id.partition("/")[0]


def title_of(pattern: Pattern) -> str:
    """Its first wording as a person would quote it, with … where Kafka prints values."""
    whole = " ".join(wording(parse(pattern.templates[0].text)).replace("{…}", "…").split())
    return whole if len(whole) <= 110 else whole[:109].rstrip() + "…"


def wording(parts: Sequence[Part]) -> str:
    """A template as text: values by their names in angle brackets, optional words as they are."""
    return "".join(_part(one) for one in parts)


def _part(part: Part) -> str:
    if isinstance(part, Placeholder):
        return "…" if part.name == "_" else f"<{part.name}>"
    return wording(part.parts) if isinstance(part, Maybe) else part


def _overview(known: Iterable[Pattern]) -> str:
    counts = Counter(speaker_of(one) for one in known)
    return page(
        "# What does this log line mean?",
        f"{sum(counts.values())} messages of Kafka's brokers and clients, as the catalog of rebalance-forensics knows"
        " them. Search for the words of a line, or ask the tool: `rebalance-forensics explain --line '…'`.",
        table(
            ("who logs it", "messages"),
            (
                (f"[{title}]({slug(name)}/index.md)", str(counts[name]))
                for name, title in SPEAKERS.items()
                if counts[name]
            ),
        ),
    )


def _index(speaker: str, mine: Sequence[Pattern]) -> str:
    rows = ((f"[{code(title_of(one))}]({path_of(one).rpartition('/')[2]})", one.meaning) for one in mine)
    return page(f"# Messages: {SPEAKERS[speaker]}", table(("message", "what it means"), rows))


def _message(pattern: Pattern, known: dict[str, Pattern], shown: Recorded) -> str:
    return page(
        f"---\ntitle: {_quoted(title_of(pattern))}\n---",
        f"# {code(title_of(pattern))}",
        pattern.meaning,
        _tells(pattern),
        _wordings(pattern.templates),
        _loggers(pattern),
        _examples(pattern.samples),
        _worry(pattern, shown),
        _around(pattern, known, shown),
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _tells(pattern: Pattern) -> str:
    if pattern.event is None:
        return "It says nothing about a group: the tool knows the line and passes over it."
    return f"The tool reads it as the event [{pattern.event}](../../events.md#{pattern.event.lower()})."


def _wordings(templates: Sequence[Template]) -> str:
    rows = (
        (code(wording(parse(one.text))), one.releases or "not recorded", one.logged_by or "not recorded")
        for one in templates
    )
    return "## Wording by release\n\n" + table(("wording", "Kafka releases", "logged by"), rows)


def _loggers(pattern: Pattern) -> str:
    names = ", ".join(code(name) for name in pattern.loggers)
    return f"Loggers: {names}." if names else ""


def _examples(samples: Sequence[Sample]) -> str:
    return "## Examples\n\n" + block("\n".join(one.message for one in samples)) if samples else ""


def _worry(pattern: Pattern, shown: Recorded) -> str:
    causes = shown.proves.get(pattern.id)
    if not causes:
        return ""
    named = "\n".join(
        f"- [{cause}](../../causes/{cause}.md) ({count(number, 'incident')})"
        for cause, number in causes.most_common(MOST)
    )
    return (
        "## When to worry\n\nIn the recorded incidents it stands in the proof of these faults. Alone it proves none of"
        f" them.\n\n{named}"
    )


def _around(pattern: Pattern, known: dict[str, Pattern], shown: Recorded) -> str:
    sections = (
        ("before it", shown.before.get(pattern.id)),
        ("after it", shown.after.get(pattern.id)),
    )
    listed = [_neighbours(where, counts, known) for where, counts in sections if counts]
    if not listed:
        return ""
    return page(
        "## What stands around it", "In the recorded logs, in the same file and on the same group:", *listed
    ).rstrip()


def _neighbours(where: str, counts: Counter[str], known: dict[str, Pattern]) -> str:
    total = sum(counts.values())
    rows = (
        (f"[{code(title_of(known[name]))}](../{path_of(known[name]).partition('/')[2]})", f"{100 * number // total} %")
        for name, number in counts.most_common(MOST)
        if name in known
    )
    return table((f"right {where}", "how often"), rows)
