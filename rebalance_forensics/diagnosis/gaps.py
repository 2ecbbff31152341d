"""Gaps in the logs: which log, from whom, at which level and for which time, would show more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from rebalance_forensics import defects
from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED
from rebalance_forensics.diagnosis.episodes.members.departures import FIRST_EPOCH
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses
from rebalance_forensics.diagnosis.model import Gap, GapKind, Incident
from rebalance_forensics.diagnosis.signs.process_stops import gc_logs_of_several_jvms
from rebalance_forensics.diagnosis.wording.durations import capitalized, counted, lasting, seconds, some
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.dialects import last_known_release
from rebalance_forensics.records import LEFT_OUT, SECOND_MS, EpochMs, elapsed, input_name, is_timed, natural
from rebalance_forensics.timeline.clocks.file_clocks import Doubt
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import LOOPBACK
from rebalance_forensics.timeline.identity.own_process import ended_with
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.orchestration import application_names
from rebalance_forensics.timeline.releases import release_range
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.unnamed_groups import in_words, is_named, its_member
from rebalance_forensics.timeline.windows import QUIET_MS

MOST_NAMES = 5
_ENDED = "how it ended"
# Placeholder for the group in the text of a gap, so that the same gap of several groups has one template.
_GROUP = "{group}"


def gaps_of(timeline: Timeline, incidents: Sequence[Incident]) -> tuple[Gap, ...]:
    """Return the gaps that matter to this group, widest first."""
    found = (
        _too_little(timeline, incidents),
        _missing_lines(timeline, incidents),
        _missing_logs(timeline, incidents),
        _begins_late(timeline, incidents),
        _ends_early(timeline, incidents),
        _doubtful_times(timeline),
        _cut_lines(timeline),
        _newer_releases(timeline),
        _untied_reports(timeline, incidents),
        _untied_lines_of_hosts(timeline, incidents),
    )
    group, words = timeline.group, in_words(timeline.group)
    return tuple(
        replace(gap, group=group, what=gap.what.replace(_GROUP, words), template=gap.what)
        for gap in chain.from_iterable(found)
    )


def _throughout(timeline: Timeline, what: str, consequence: str, kind: GapKind = "missing") -> Gap:
    """Return a gap that lasts from the first to the last line of the group."""
    return Gap(
        what=what, started_at=_at(timeline.first), ended_at=_at(timeline.last), consequence=consequence, kind=kind
    )


def _shortly(ms: int | None) -> str:
    return f"{seconds(ms)} " if ms else "just " if ms == 0 else ""


def _coordinator(timeline: Timeline) -> str:
    """Return the coordinator's log in words, with the brokers that were coordinator according to other logs."""
    names = list(dict.fromkeys(term.broker for term in timeline.coordinators))
    brokers = f" ({' or '.join(names[:MOST_NAMES])})" if names else ""
    return f"server.log of the group's coordinator{brokers}"


def failed_causes(timeline: Timeline, broken: Mapping[str, str]) -> list[Gap]:
    """Return a gap for each cause that failed on this group's lines."""
    return [
        Gap(
            what=f"Whether {in_words(timeline.group)} had a case of {cause} could not be evaluated: {error}",
            started_at=_at(timeline.first),
            ended_at=_at(timeline.last),
            consequence=f"it is neither found nor ruled out; {defects.ASK}",
            is_defect=True,
        )
        for cause, error in broken.items()
    ]


def _too_little(timeline: Timeline, incidents: Sequence[Incident]) -> Iterator[Gap]:
    # A group that is only mentioned is neither healthy nor broken.
    episodes = (timeline.generations, timeline.rebalances, timeline.departures, timeline.arrivals, timeline.returns)
    if incidents or any(episodes) or timeline.last - timeline.first >= QUIET_MS:
        return
    lines = sum(event.group is not None for event in timeline.group_events)
    tell = "1 line mentions it" if lines == 1 else f"{lines} lines mention it"
    heard = lasting(elapsed(timeline.first, timeline.last) or None, " within {}")
    missing = "The logs of its clients" if timeline.has_coordinator_log else f"The {_coordinator(timeline)}"
    yield _throughout(
        timeline,
        f"Too little to judge {_GROUP}: {tell}{heard}, and none of them shows a rebalance or a "
        "member joining or leaving.",
        f"Whether the group is healthy is unknown. {missing} at INFO, from before that time "
        "until after it, would show its members and generations.",
        kind="too-little",
    )


def _missing_lines(timeline: Timeline, incidents: Sequence[Incident]) -> Iterator[Gap]:
    """Yield excerpts, lines that name no group, and lines of several groups with the same name."""
    group = _GROUP
    if incidents and timeline.coverage.is_excerpt:
        yield _throughout(
            timeline,
            f"The lines about {group} are an excerpt.",
            "More may have been logged and left out; the full logs would show it.",
        )
    for path, spans in sorted(timeline.coverage.missing.items()):
        since, until = spans[0][0], spans[-1][1]
        why = _why_missing(timeline.coverage.dropped.get(path))
        yield Gap(
            log=path,
            what=f"Lines of {input_name(path)} are missing ({group}): {why}.",
            started_at=_at(since),
            ended_at=_at(until),
            consequence="What it does not show of that time may have happened all the same. The whole log would show "
            "it: look for a rotated file, a rate limit, a shipper that lost lines.",
        )
    if not is_named(timeline.group):
        # The coordinator's log names the group even if a client's log does not, and shows the other members.
        yield _throughout(
            timeline,
            f"No line names the group of {its_member(timeline.group)}.",
            "It is reported as a group of its own; its other members are unknown. server.log of the brokers names "
            "groups with their members' client ids; so does the client at a more detailed level (librdkafka: "
            "debug=cgrp).",
        )
    reports = timeline.group_events.of_type(ev.ClusterReported)
    ids = list(dict.fromkeys(event.cluster_id for event in reports if event.group == timeline.group))
    if len(ids) > 1:
        yield _throughout(
            timeline,
            f"Members of {group} are connected to {len(ids)} Kafka clusters ({', '.join(ids[:MOST_NAMES])}).",
            "These are different groups with the same name, reported as one. Analyze each cluster's logs separately, "
            "or put them into one directory per cluster and add --cluster-per-directory.",
        )


def _why_missing(notices: Sequence[ev.LinesDropped] | None) -> str:
    if not notices:
        return "others must have come before what follows"
    counts = [notice.count for notice in notices]
    lines = counted(sum(filter(None, counts)), "line") if all(counts) else "lines"
    return f"{some(sorted({notice.dropped_by for notice in notices}))} logged that {lines} were dropped"


def once_for_each_log(gaps: Iterable[Gap]) -> Iterator[Gap]:
    """Yield the gaps, and merge those of several groups about lines missing from one log into one for all groups."""
    by_log: dict[tuple[str, str], list[Gap]] = defaultdict(list)
    for gap in gaps:
        if gap.log is None or gap.template is None:
            yield gap
        else:
            by_log[gap.log, gap.template].append(gap)
    for (_, template), alike in by_log.items():
        first, *others = sorted(alike, key=lambda gap: natural(gap.group or ""))
        if not others:
            yield first
            continue
        names = [gap.group or "" for gap in (first, *others)]
        groups = (
            f"groups {some(names, MOST_NAMES)}"
            if all(map(is_named, names))
            else some([*map(in_words, names)], MOST_NAMES)
        )
        yield replace(
            first,
            group=None,
            what=template.replace(_GROUP, groups),
            template=None,
            started_at=min((gap.started_at for gap in alike if gap.started_at is not None), default=None),
            ended_at=max((gap.ended_at for gap in alike if gap.ended_at is not None), default=None),
        )


def _missing_logs(timeline: Timeline, incidents: Sequence[Incident]) -> Iterator[Gap]:
    """Yield logs of the coordinator and of clients that are missing, or contain only warnings."""
    group, everybody = _GROUP, timeline.participants.everybody
    if not timeline.has_coordinator_log and is_named(timeline.group):
        yield _throughout(
            timeline,
            f"No broker log mentions {group}.",
            "Session timeouts and members without a log of their own remain unseen: "
            f"{_coordinator(timeline)} at INFO would show them.",
        )
    without = [a for a in timeline.membership.members if not a.has_log]
    if without or (incidents and not any(a.has_log for a in everybody)):
        yield _throughout(
            timeline,
            f"No log of {_names(without, incidents) if without else 'any client'} ({group}).",
            "Only a member's own log shows why it left, was rejected or rejoined, and whether it crashed, was "
            "paused or was cut off (org.apache.kafka.clients.consumer at INFO). Most non-Java clients log none of "
            "this by default.",
        )
    mute = [a for a in everybody if timeline.coverage.of(a) and not timeline.coverage.detailed(a)]
    if mute:
        name, mention = ("log", "mentions") if len(mute) == 1 else ("logs", "mention")
        yield _throughout(
            timeline,
            f"The {name} of {_names(mute, incidents)} ({group}) {mention} the group in warnings and errors only.",
            "At INFO they would show when the consumer joined, why it left and whether it was still running.",
        )


def _begins_late(timeline: Timeline, incidents: Sequence[Incident]) -> Iterator[Gap]:
    # If the logs start after the group formed, the reason for its rebalances may precede them.
    first = next(iter(timeline.generations), None)
    if first is None and not incidents:
        return
    if first is not None and (first.generation <= 1 or _is_first_epoch(timeline, first.generation, incidents)):
        return
    amid = f" in generation {first.generation}" if first is not None else ""
    soon = [i for i in incidents if i.started_at - timeline.first <= session_timeout_ms(timeline)]
    where = "in the middle of an incident" if soon else "in the middle of the group's life"
    yield Gap(
        what=f"The logs of {_GROUP} begin {where}{amid}.",
        started_at=None,
        ended_at=_at(timeline.first),
        consequence=f"What happened before is unknown: the earlier {_coordinator(timeline)}"
        f"{_and_clients(timeline.membership.members, incidents)} would show it.",
    )


def _is_first_epoch(timeline: Timeline, number: int, incidents: Sequence[Incident]) -> bool:
    # Since 4.3, groups of the newer protocols start with epoch 2.
    started = any(i.root_causes[0].cause == "startup" and number in i.generations for i in incidents)
    return started and number == FIRST_EPOCH and not timeline.is_classic


def _ends_early(timeline: Timeline, incidents: Sequence[Incident]) -> Iterator[Gap]:
    """Yield logs that end before the outcome is known."""
    end = max(timeline.coverage.end, timeline.last)
    session = session_timeout_ms(timeline)
    lately = [d for d in timeline.departures.since(end - 2 * session) if d.returned is None or d.at >= end - session]
    going_on = any(i.ongoing for i in incidents)
    still_joining = any(
        r.completed_at is None and r.stabilized_at is None for r in timeline.rebalances.since(end - session)
    )
    if lately or going_on or still_joining:
        why, unknown, whose = _open_end(timeline, end, lately, going_on=going_on)
        yield Gap(
            what=f"The logs of {_GROUP} end {why}.",
            started_at=_at(end),
            ended_at=None,
            consequence=f"To see {unknown}, add the later {_coordinator(timeline)}{_and_clients(whose, incidents)}.",
        )


def _open_end(
    timeline: Timeline, end: int, lately: Sequence[Departure], *, going_on: bool
) -> tuple[str, str, list[Participant]]:
    """Return during what the logs end, what is therefore unknown, and the members whose logs would show it."""
    everybody = list(timeline.membership.members)
    if not lately:
        return "while an incident was going on" if going_on else "in the middle of a rebalance", _ENDED, everybody
    # A member that is still absent matters more than one that rejoined shortly before the end.
    away = [d for d in lately if not _is_back(timeline, d)]
    last, whose = (away or lately)[-1], list(dict.fromkeys(d.participant for d in away or lately))
    since = f"{_shortly(timeline.measured(end - last.at))}after"
    if not away and not going_on:
        return f"{since} {last.participant.name} dropped out and rejoined", "what happened next", whose
    again = all(timeline.starts.of(d.participant).since(d.at) for d in away or [last])
    it, was, rejoined = ("it", "was", "it rejoined") if len(whose) == 1 else ("they", "were", "all of them rejoined")
    why = f"{since} {_departures_in_words(away or [last])}{f'; {it} {was} restarted meanwhile' if again else ''}"
    if going_on:
        return why, "how the incident ended", everybody
    if again:
        return why, f"whether {rejoined} the group", whose
    return why, "whether it came back" if len(whose) == 1 else "which of them came back", whose


def _departures_in_words(departures: Sequence[Departure]) -> str:
    """Return `c-1 and c-2 dropped out` or `c-1 left`."""
    names = sorted({departure.participant.name for departure in departures}, key=natural)
    lost = {departure.why in UNANNOUNCED for departure in departures}
    how = ("left" if False in lost else "", "dropped out" if True in lost else "")
    return f"{some(names)} {' or '.join(filter(None, how))}"


def _is_back(timeline: Timeline, departure: Departure) -> bool:
    """True if it is a member again: it rejoined, or it is a static member that reclaimed its place."""
    back = timeline.returns.of(departure.participant).since(departure.at)
    return departure.returned is not None or bool(back)


def _and_clients(participants: Iterable[Participant], incidents: Sequence[Incident]) -> str:
    shown = list(participants)
    names = _names(shown, incidents)
    if len(shown) == 1 and names == _file_of(shown[0]):
        return f" and the rest of {names}"
    return f" and the {'log' if len(shown) == 1 else 'logs'} of {names}" if names else ""


def _file_of(participant: Participant) -> str:
    return input_name(min(participant.files)) if participant.has_log and participant.files else ""


def _names(participants: Sequence[Participant], incidents: Sequence[Incident]) -> str:
    """Return at most five names, blamed members first, each with its host if known."""
    blamed = {n for i in incidents for c in i.root_causes for u in c.culprits for n in (u.name, *u.names)}
    ordered = sorted(participants, key=lambda a: (a.name not in blamed and not a.client_ids & blamed, a.name))
    return some([_named(participant) for participant in ordered], MOST_NAMES)


def _named(participant: Participant) -> str:
    """Return what is needed to fetch a participant's log: its client id, its host, and the file at hand."""
    host = min((participant.hosts or participant.endpoints) - LOOPBACK, default=None)
    at_hand = _file_of(participant)
    unnamed = participant.client_ids and participant.name not in participant.client_ids and not at_hand
    names = [participant.name, *([min(participant.client_ids)] if unnamed else [])]
    where = f" on {host}" if host and host not in names else ""
    file = f" ({at_hand})" if at_hand not in ("", participant.name) else ""
    return f"{' / '.join(names)}{where}{file}"


def _at(time: int) -> EpochMs | None:
    return EpochMs(time) if time and is_timed(time) else None


_WHY_IN_DOUBT: dict[Doubt, str] = {
    "start-times": "do not match the start times printed in its lines (Kafka startTimeMs), in any time zone",
    "facts": "differ from the coordinator's by more than a time zone can explain, though both log the same generations",
}


def _newer_releases(timeline: Timeline) -> Iterator[Gap]:
    """Yield Kafka releases in use that are newer than the last one whose log messages are known."""
    known, words = last_known_release(), ".".join(map(str, last_known_release()))
    reported = {e.version: spread for e in timeline.versions if (spread := release_range(e.version)) is not None}
    newer = sorted(version for version, (low, _) in reported.items() if low[: len(known)] > known)
    if newer:
        yield _throughout(
            timeline,
            f"Kafka {some(newer, MOST_NAMES)} {'is' if len(newer) == 1 else 'are'} newer than {words}, the last "
            "release whose messages are known.",
            "Messages that still read as in a known release are read as those of the nearest; what it words anew is "
            "not recognized, so a cause may be less sure than the logs allow.",
        )


def _doubtful_times(timeline: Timeline) -> Iterator[Gap]:
    """Yield logs whose times contradict their lines, or lack a time zone, a time or fractions of a second."""
    for doubt, path in sorted({(c.doubt, c.path) for c in timeline.clocks if c.doubt is not None}):
        # The log was replayed or restored, or the clock was set.
        yield _timeless(
            f"The times in {path} {_WHY_IN_DOUBT[doubt]}.",
            "They are taken as printed and may not match the other files. Check the clock of its host, and "
            "whether a collector set the times; --tz HOST=ZONE sets a zone.",
        )
    paths = sorted({c.path for c in timeline.clocks if c.zone is None and c.doubt is None})
    if paths and not all(c.zone is None for c in timeline.clocks):
        one_file, files = len(paths) == 1, some(paths, MOST_NAMES)
        yield _timeless(
            f"The time {'zone' if one_file else 'zones'} of {files} {'is' if one_file else 'are'} not known.",
            f"{'Its' if one_file else 'Their'} times are read as UTC and may not match the other files; --tz HOST=ZONE "
            f"sets {'it' if one_file else 'them'}.",
        )
    if not is_timed(timeline.first):
        yield _timeless(
            f"No line about {_GROUP} has a time: the order of the lines is taken for their order in time.",
            "How long anything took, and whether two things happened at the same time, is unknown. The same lines "
            "with their times would show it.",
        )
    coarse = [clock for clock in timeline.clocks if clock.step_ms > 1]
    if coarse:
        step = "second" if max(clock.step_ms for clock in coarse) == SECOND_MS else "minute"
        yield _throughout(
            timeline,
            f"The times in {some(sorted({clock.path for clock in coarse}), MOST_NAMES)} are whole {step}s.",
            f"Pauses and stops measured by them may be off by up to a {step}; a log pattern with milliseconds would "
            "show them exactly.",
        )


def _timeless(what: str, consequence: str) -> Gap:
    return Gap(what=what, started_at=None, ended_at=None, consequence=consequence)


def _cut_lines(timeline: Timeline) -> Iterator[Gap]:
    """Yield lines that a viewer or a person truncated."""
    lines = [event for event in timeline.group_events if event.group is not None]
    if cut := sum(LEFT_OUT in event.text for event in lines):
        number = "All" if cut == len(lines) else f"{cut} of {len(lines)}"
        which = f"{number} lines about {{}} are cut." if len(lines) > 1 else "The line about {} is cut."
        yield _throughout(
            timeline,
            which.format(_GROUP),
            "What was left out, such as member ids, generations and reasons, is unknown. The same lines in full would "
            "show it.",
        )


_OF_HOSTS: tuple[tuple[tuple[type[Event], ...], str, str], ...] = (
    (
        (ev.ThreadsStopped,),
        "JVM stop",
        (
            "An uptime becomes a time where the application logs the start of its JVM, as Spring Boot does. "
            "-Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags prints the time."
        ),
    ),
    (
        (ev.ThreadStack,),
        "dumped thread",
        (
            "jcmd PID Thread.print prints when it was made; that of an actuator has the time of its file's name "
            "(threaddump-2026-11-20T10-15-30Z.json)."
        ),
    ),
    ((ev.ProcessKilled, ev.HostDisturbed), "kernel line", "dmesg -T or journalctl -k -o short-iso prints the time."),
)


def _untied_lines_of_hosts(timeline: Timeline, incidents: Sequence[Incident]) -> Iterator[Gap]:
    """Yield JVM and kernel lines without a time, and hs_err files of no known member: counted, never a cause."""
    if not incidents:
        return
    for kinds, what, consequence in _OF_HOSTS:
        if lines := [e for e in timeline.untimed_of_hosts if isinstance(e, kinds)]:
            have = "has" if len(lines) == 1 else "have"
            files = some(sorted({e.speaker.file for e in lines}), MOST_NAMES)
            yield _timeless(
                f"{capitalized(counted(len(lines), what))} in {files} {have} no time.",
                f"Nothing was concluded from {'it' if len(lines) == 1 else 'them'}. {consequence}",
            )
    unlike = {(a.participant, logs) for a in losses(timeline) if (logs := gc_logs_of_several_jvms(timeline, a))}
    for participant, logs in sorted(unlike, key=lambda found: (found[0].name, found[1])):
        yield _throughout(
            timeline,
            f"No line shows which {_of_logs(logs)} of {_names([participant], incidents)}.",
            "Nothing was concluded from them. The process id in its name (file=gc-%p.log) or among its decorations "
            "tells it, where the member's log prints that as well.",
        )
    for died in timeline.of(ev.ProcessDied):
        present = timeline.participants.at_place(died)
        if died.pid and present and not ended_with(timeline.group, timeline.participants, died):
            yield _throughout(
                timeline,
                f"{died.speaker.file} is of a process{f' ({died.program})' if died.program else ''} that no line ties "
                f"to {_names(present, incidents)}.",
                "Nothing was concluded from it. It is tied to a member by a process id in the member's log, by the "
                "consumer's threads that it lists, or by a main class named after the member.",
            )


def _of_logs(logs: Sequence[str]) -> str:
    """Return `of gc-1.log and gc-2.log is the GC log`; several JVMs may have written to one log."""
    return f"of {some(logs, MOST_NAMES)} is the GC log" if len(logs) > 1 else f"of the JVMs in {logs[0]} is that"


def _untied_reports(timeline: Timeline, incidents: Sequence[Incident]) -> Iterator[Gap]:
    """Yield orchestrator events without a time, or that name no pod of the group: counted, never a cause."""
    reported = timeline.orchestration
    if not incidents or not reported:
        return
    if reported.untimed:
        paths = some(sorted({e.origin.path for e in reported.untimed}), MOST_NAMES)
        number = len(reported.untimed)
        have = "has" if number == 1 else "have"
        yield _timeless(
            f"{counted(number, 'event')} of Kubernetes in {paths} {have} an age and no time.",
            "Ages count back from when the table was made, so what they belong to is unknown. kubectl get events -A "
            "-o json > events.json keeps the times.",
        )
    members = [(application_names(timeline.group, a), reported.pods_of(a)) for a in timeline.membership.members]
    if unknown := {name for names, pods in members for name in reported.unknown_containers(pods, names)}:
        yield _throughout(
            timeline,
            f"Containers in pods of {_GROUP} may not be the application: {some(sorted(unknown), MOST_NAMES)}.",
            "Nothing was concluded from their ends and stops. The application is known where its container has the "
            "name of its workload, client or group, or where the status of its pod lists it alone (kubectl get pods -A "
            "-o json > pods.json).",
        )
    if reported.timed and not any(pods for _, pods in members):
        many, group = capitalized(counted(len(reported.timed), "event")), _GROUP
        concern = "concerns" if len(reported.timed) == 1 else "concern"
        yield _throughout(
            timeline,
            f"{many} of Kubernetes or Docker {concern} no known pod or container of {group}.",
            "They were counted and nothing was concluded from them. A member is tied to its pod or container by the "
            "name of its host, the directory or name of its log, its client id or its group.instance.id; a "
            "StatefulSet's pod that occurs in several namespaces also by the namespace in the path of its log.",
        )
