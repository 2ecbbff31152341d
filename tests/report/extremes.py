"""Reports that strain a page or a terminal: many groups, many events, lines written to do harm."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Advice, ChainLink, Culprit, DisturbedGroup, Gap, Impact, Relation
from rebalance_forensics.report.model import Report
from rebalance_forensics.timeline.model import (
    Burst,
    Evidence,
    FailedAttempt,
    Generation,
    Lane,
    LeaderChange,
    Leadership,
    Mark,
    Member,
    Participation,
    Reading,
    Span,
    UnreadSpan,
)
from tests.report.building import a_crash, a_lane, a_line, an_identity, at, crash_report, payments


def many_groups(number: int) -> Report:
    """Many groups with a crash each, the tenth of them critical and still going on."""
    groups = tuple(replace(payments(), group=f"payments-eu-{index:03d}") for index in range(number))
    incidents = tuple(
        replace(
            a_crash(),
            id=f"{index:012x}",
            group=history.group,
            severity="critical" if index % 10 == 9 else "warning",
            ongoing=index % 10 == 9,
        )
        for index, history in enumerate(groups)
    )
    return replace(crash_report(), groups=groups, incidents=incidents)


def broker_down(number: int, members: int = 3) -> Report:
    """A broker that went down under many groups, one of them worse off, and a crash of its own in another."""
    history = payments()
    identities = tuple(an_identity(1 + member % 3) for member in range(members))
    identities = tuple(
        replace(identity, name=f"payments-{place + 1}", host=f"node-{place % 4}")
        for place, identity in enumerate(identities)
    )
    unread = UnreadSpan(
        partition="orders-0",
        started_at=at(131),
        ended_at=at(134),
        client_id="payments-2",
        why="dead",
        to_latest=at(134),
    )
    groups = tuple(
        replace(history, group=f"payments-eu-{index:03d}", identities=identities, unread=(unread,))
        for index in range(number)
    )
    disturbed = tuple(
        DisturbedGroup(
            group=history.group,
            severity="warning" if index else "critical",
            impact=Impact(
                rebalances=index % 3,
                unread_partition_ms=3_000 * (number - index),
                unread_partitions=1,
                known_partitions=12,
                longest_unread_ms=3_000,
                stopped_ms=0,
            ),
            evidence=(a_crash().root_causes[0].evidence[0],),
            summary="broker-1 stopped coordinating the group; another broker took over without a rebalance.",
        )
        for index, history in enumerate(groups)
    )
    cause = replace(
        a_crash().root_causes[0],
        cause="coordinator-failover",
        culprits=(Culprit(kind="broker", name="broker-1", names=("1",)),),
    )
    down = replace(
        a_crash(),
        id="b0b0b0b0b0b0",
        group=None,
        scope="cluster",
        groups=disturbed,
        severity="critical",
        summary=f"broker-1 went down at 10:02:11 UTC; {number} groups were disturbed.",
        root_causes=(cause,),
    )
    return replace(crash_report(), groups=groups, incidents=(down, replace(a_crash(), group=groups[3].group)))


def many_events(number: int, members: int = 40) -> Report:
    """Tell of a busy group: `number` events over a day in its members' lanes, one of a hundred a fault."""
    step = 86_400 / number
    lanes = tuple(
        Lane(
            name=f"worker-{member:03d}",
            kind="client",
            spans=tuple(
                Span(
                    started_at=at(index * step),
                    ended_at=at((index + members * 10) * step),
                    kind="member",
                    label=f"generation {index // members}",
                    generation=index // members,
                )
                for index in range(member, number, members * 10)
            ),
            marks=tuple(_an_event(index, index * step) for index in range(member, number, members)),
        )
        for member in range(members)
    )
    generations = tuple(
        Generation(
            generation=index,
            started_at=at(index * 100 * step),
            completed_at=at((index * 100 + 2) * step),
            trigger="slow-processing",
            leader=None,
            members=(Member(member_id=None, client_id="worker-001"),),
            outcome="stable",
        )
        for index in range(number // 100)
    )
    history = replace(payments(), lanes=lanes, generations=generations)
    return replace(crash_report(), groups=(history,), incidents=(replace(a_crash(), ongoing=True, ended_at=None),))


def _an_event(index: int, seconds: float) -> Mark:
    fault = index % 100 == 0
    line = a_line(
        f"worker-{index % 7}/app.log", index + 1, seconds, f"INFO {index} " + "Revoke previously assigned " * 6
    )
    return Mark(at=at(seconds), kind="revoked", label="revoked", severity="fault" if fault else "plain", evidence=line)


HARM = {
    "markup": "</pre><h1>owned</h1><img src=x onerror=alert(1)>",
    "script": "</script><script>document.title='owned'</script><!--",
    "template": "{{ 7 * 7 }} {% for x in y %} [bold red]rich[/] :smile:",
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m back\x08\x08\rhome",
    "right-to-left": "user\u202egnp.exe \u2066\u200f\u061c\ufeff hidden\u200b",
    "separators": "one\u2028two\u2029three\x00four",
    "surrogate": "\udcff\udc80 not UTF-8",
    "endless": "A" * 1_000_000,
    "marks": "Z" + "\u0301" * 50_000,
}


def hostile_report() -> Report:
    """Tell the crash again, every name and line of it written by an enemy."""
    lines = tuple(a_line(f"x/{name}.log", number, 131, text) for number, (name, text) in enumerate(HARM.items(), 1))
    enemy = "".join(text[:60] for text in HARM.values())
    crash = a_crash()
    cause = replace(
        crash.root_causes[0],
        culprits=(Culprit(kind="client", name=enemy, names=tuple(HARM.values())),),
        narrative=f"It was {enemy}.",
        evidence=lines,
        evidence_total=len(lines),
        advice=(Advice(action=f"Restart {enemy}.", why=enemy),),
        chain=tuple(ChainLink(at=line.timestamp, what=line.text[:80], evidence=line) for line in lines),
    )
    marks = tuple(Mark(at=at(131), kind="x", label=line.text, severity="fault", evidence=line) for line in lines)
    lanes = (replace(a_lane(2), name=enemy, marks=marks),)
    reading = _a_hostile_reading(enemy, lines)
    return replace(
        crash_report(),
        groups=(replace(payments(), group=enemy, lanes=lanes, settings=((enemy, enemy),), reading=reading),),
        incidents=(
            replace(
                crash,
                group=enemy,
                summary=f"Consumer {enemy} died.",
                root_causes=(cause,),
                related=(Relation(kind="host", ids=("00aa11bb22cc",), groups=2, why=f"Both on {enemy}."),),
            ),
        ),
        gaps=(Gap(what=enemy, started_at=None, ended_at=None, consequence=enemy),),
    )


def _a_hostile_reading(enemy: str, lines: Sequence[Evidence]) -> Reading:
    names = tuple(HARM.values())
    change = LeaderChange(generation=8, at=at(131), before=names[0], after=enemy, former_took_part=True)
    failures = tuple(
        FailedAttempt(
            at=at(131), who=enemy, api="SyncGroup", generation=7, error=line.text, why=line.text, evidence=line
        )
        for line in lines
    )
    return Reading(
        leadership=Leadership(stable=False, changes=(change,)),
        close_together=(
            Burst(
                generations=(7, 8),
                started_at=at(131),
                ended_at=at(132),
                rebalances=2,
                reasons=(enemy,),
                failures=failures,
            ),
        ),
        participants=(
            Participation(generation=7, at=at(2), leader=names[0], members=names),
            Participation(generation=8, at=at(131), leader=enemy, members=(enemy,), missing=names, new=(enemy,)),
        ),
    )
