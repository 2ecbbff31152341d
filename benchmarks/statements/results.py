"""The page of results: matches by release and component, and missed statements with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.statements.asking import Answer


def page(releases: Sequence[str], answers: Sequence[Answer]) -> str:
    """RESULTS.md."""
    return "\n".join([*_summary(answers), "", *_table(releases, answers), "", *_rest(answers)]) + "\n"


def share(answers: Sequence[Answer]) -> float:
    """The share of statements that are known in every release that prints them."""
    return sum(not answer.missed for answer in answers) / len(answers) if answers else 0.0


def _summary(answers: Sequence[Answer]) -> Iterator[str]:
    known = [answer for answer in answers if not answer.missed]
    yield "# Every log statement about groups, asked of the catalog"
    yield ""
    yield "Written by `python -m benchmarks.statements STATEMENTS.csv`. Each core statement at INFO and above is"
    yield "filled with plausible values, as each release prints it, and asked of the catalog. A statement counts as"
    yield "matched when it is known in every release that prints it, with every set of arguments."
    yield ""
    yield f"- **{_ratio(len(known), len(answers))}** statements matched"
    yield f"- {sum(bool(answer.events) for answer in known)} yield a typed event, the others say nothing about a group"
    yield f"- {sum(answer.claimed_twice for answer in answers)} claimed by more than one pattern"


def _table(releases: Sequence[str], answers: Sequence[Answer]) -> Iterator[str]:
    components = sorted({answer.statement.component for answer in answers})
    yield "| release | " + " | ".join([*components, "all"]) + " |"
    yield "|---|" + "---:|" * (len(components) + 1)
    for release in releases:
        cells = [_cell(release, [one for one in answers if one.statement.component == name]) for name in components]
        yield f"| {release} | " + " | ".join([*cells, _cell(release, answers)]) + " |"
    whole = [[one for one in answers if one.statement.component == name] for name in components]
    cells = [_ratio(sum(not one.missed for one in each), len(each)) for each in (*whole, answers)]
    yield "| **every** | " + " | ".join(cells) + " |"


def _cell(release: str, answers: Sequence[Answer]) -> str:
    known = sum(release in answer.known for answer in answers)
    return _ratio(known, known + sum(release in answer.missed for answer in answers))


def _ratio(known: int, all_: int) -> str:
    return f"{known}/{all_} {100 * known / all_:.1f} %" if all_ else "-"


def _rest(answers: Sequence[Answer]) -> Iterator[str]:
    rest = [answer for answer in answers if answer.missed]
    yield f"## The {len(rest)} that are not matched" if rest else "None is missing."
    if not rest:
        return
    yield ""
    yield "| component | class | level | releases | statement | why |"
    yield "|---|---|---|---|---|---|"
    for answer in rest:
        told, span = answer.statement, sorted({answer.missed[0], answer.missed[-1]}, key=answer.missed.index)
        text = told.template.replace("\n", "\\n").replace("|", "\\|")
        where = f"{told.component} | {told.name} | {told.level.upper()} | {' to '.join(span)}"
        yield f"| {where} | `{text}` | {answer.reason} |"
