"""Messages as Kafka would print them: statements with plausible values in their placeholders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from benchmarks.statements.reading import Statement, Wording, rank

HERE = Path(__file__).parent
TRACE = "\n\tat org.apache.kafka.common.utils.KafkaThread.run(KafkaThread.java:64)"


class NoValueError(ValueError):
    """An expression for which no plausible value is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What an expression prints, determined by its source text and the message around it."""

    expression: re.Pattern[str]
    template: re.Pattern[str] | None
    name: re.Pattern[str] | None
    then: re.Pattern[str] | None
    """Pattern of the text after the placeholder."""
    language: str | None
    before: str | None
    """The first release that prints something else."""
    value: str

    def fits(self, placeholder: Placeholder) -> bool:
        """True if the rule applies to the placeholder."""
        statement = placeholder.statement
        return (
            self.expression.search(placeholder.expression) is not None
            and (self.template is None or self.template.search(statement.template) is not None)
            and (self.name is None or self.name.search(statement.name) is not None)
            and (self.then is None or self.then.match(placeholder.then) is not None)
            and self.language in (None, statement.language)
            and (self.before is None or rank(placeholder.release) < rank(self.before))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """A placeholder of a statement in one release."""

    expression: str
    then: str
    statement: Statement
    release: str


def filled(statement: Statement, wording: Wording, release: str) -> str:
    """The message with its log prefix, as a release prints it; raises NoValueError if a value is unknown."""
    arguments = list(wording.arguments)
    literals = parts(statement.template)
    text = prefix(statement)
    for at, part in enumerate(literals):
        if at % 2 == 0:
            text += part
            continue
        expression = part or (arguments.pop(0) if arguments else "")
        text += value(Placeholder(expression=expression, then=literals[at + 1], statement=statement, release=release))
    if arguments:
        thrown = Placeholder(expression=arguments[-1], then="", statement=statement, release=release)
        text += f"\n{value(thrown)}{TRACE}"
    return text


def parts(template: str) -> list[str]:
    """Literal texts and, between them, the expressions of placeholders (`{}`, `{expression}`)."""
    return re.split(r"\{([^{}]*)\}", template)


def value(placeholder: Placeholder) -> str:
    """The value of a placeholder, by the first rule that applies; raises NoValueError if none does."""
    for rule in rules():
        if rule.fits(placeholder):
            return rule.value
    raise NoValueError(placeholder.expression)


def prefix(statement: Statement) -> str:
    """The log prefix of the class."""
    known = _prefixes()[statement.component]
    for name in (f"{statement.name}.{statement.language}", statement.name, "else"):
        if name in known:
            return known[name]
    return ""


@cache
def rules() -> Sequence[Rule]:
    """The rules of values.yaml in order."""
    return [_rule(row) for row in yaml.safe_load((HERE / "values.yaml").read_text(encoding="utf-8"))]


def _rule(row: dict[str, str]) -> Rule:
    return Rule(
        expression=re.compile(row["of"]),
        template=_pattern(row.get("in")),
        name=_pattern(row.get("by")),
        then=_pattern(row.get("then")),
        language=row.get("language"),
        before=row.get("before"),
        value=row["is"],
    )


def _pattern(text: str | None) -> re.Pattern[str] | None:
    return re.compile(text) if text else None


@cache
def _prefixes() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = yaml.safe_load((HERE / "prefixes.yaml").read_text(encoding="utf-8"))
    return found
