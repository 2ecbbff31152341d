from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import offsets_partition
from rebalance_forensics.diagnosis.reference.known_bugs import Bug, all_bugs, known_bugs_of
from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.timeline.releases import release_range
from tests.diagnosis.logs import Logs

STORIES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("bug_stories.yaml").read_text())
BUGS = {bug.jira: bug for bug in all_bugs()}
FREE = "99.0.0"
"""A release that has every fix."""


def spelled(text: str) -> str:
    text = text.replace("{p}", str(offsets_partition("payments")))
    text = re.sub(r"\{g:(\d+):([^}]*)\}", r"Generation{generationId=\1, memberId='{\2}', protocol='range'}", text)
    return re.sub(
        r"\{([cw])(\d)(?::(\d))?\}", lambda m: f"{m[1]}-{m[2]}-5b1c0000-0000-4000-8000-00000000000{m[3] or 0}", text
    )


def say(logs: Logs, line: str, offset: float) -> None:
    seconds, speaker, message = line.split(" ", 2)
    at, message, (kind, _, number) = float(seconds) + offset, spelled(message), speaker.partition("-")
    match kind:
        case "b":
            logs.coordinator(at, message)
        case "B":
            logs.broker(at, message)
        case "c":
            logs.consumer(at, message, client=speaker, host=f"app-{number}")
        case "w":
            logs.client(at, f"[Worker clientId=connect-{number}, groupId=payments] {message}", speaker, "connect")
        case "t":
            logs.client(at, message, f"app-{number}", "streams")
        case _:
            logs.client(at, message, f"app-{number}")


def logs_of(bug: Bug, story: dict[str, Any], release: str, *, without_the_last: bool = False) -> Logs:
    logs = Logs()
    lines = story["lines"][: -1 if without_the_last else None]
    for turn in range(story.get("repeat", 1)):
        for line in lines:
            say(logs, line, turn * story.get("every", 0.05 if len(lines) == 1 else 4))
    for host in sorted(
        {(e.speaker.host or "", e.speaker.role == "broker") for e in logs.events} | {("broker-1", True)}
    ):
        role = "broker" if host[1] else bug.component if bug.component in ("streams", "connect") else "consumer"
        affected = (bug.side == "broker") == host[1]
        logs.version(release if affected else FREE, host[0], role)
    end = story.get("ends")
    if end is not None:
        logs.broker(end, "[BrokerServer id=1] shutting down")
        logs.client(end, "Kafka startTimeMs: 1", {"connect": "w-1"}.get(bug.component, "app-1"))
    return logs


def claimed(logs: Logs, cause: str) -> set[str]:
    timeline = logs.timeline()
    because = [e for e in [*timeline.group_events, *timeline.ungrouped] if type(e).__name__ != "VersionReported"]
    return {bug.jira for bug in known_bugs_of(timeline, cause, because)}


def test_every_signature_has_a_story() -> None:
    assert {bug.jira for bug in all_bugs() if bug.signature is not None} == STORIES.keys()


@pytest.mark.parametrize("jira", STORIES)
def test_an_affected_release_with_the_signature_has_the_bug(jira: str) -> None:
    story = STORIES[jira]
    assert jira in claimed(logs_of(BUGS[jira], story, story["runs"]), story.get("cause", "unexplained"))


@pytest.mark.parametrize("jira", STORIES)
def test_the_same_lines_of_another_release_show_no_bug(jira: str) -> None:
    story = STORIES[jira]
    assert jira not in claimed(logs_of(BUGS[jira], story, story.get("free", FREE)), story.get("cause", "unexplained"))


@pytest.mark.parametrize("jira", STORIES)
def test_an_affected_release_without_the_signature_is_not_accused(jira: str) -> None:
    story = STORIES[jira]
    cut = logs_of(BUGS[jira], story, story["runs"], without_the_last=True)
    assert jira not in claimed(cut, story.get("cause", "unexplained"))


def test_partitions_that_a_restore_consumer_takes_by_hand_are_no_other_subscription() -> None:
    story = STORIES["KAFKA-12759"]
    by_hand = [
        line.replace("Subscribed to topic(s): orders", "Assigned to partition(s): orders-0") for line in story["lines"]
    ]
    assert claimed(logs_of(BUGS["KAFKA-12759"], {**story, "lines": by_hand}, story["runs"]), "unexplained") == set()


def test_a_release_that_no_process_reported_is_not_blamed() -> None:
    logs = logs_of(BUGS["KAFKA-13406"], STORIES["KAFKA-13406"], "3.0.0")
    logs.events = [e for e in logs.events if type(e).__name__ != "VersionReported"]
    assert claimed(logs, "unexplained") == set()


def test_the_release_that_counts_is_that_of_the_member_that_shows_the_signature() -> None:
    logs = logs_of(BUGS["KAFKA-14729"], STORIES["KAFKA-14729"], "3.9.1")
    logs.consumer(0, "(Re-)joining group", client="c-2", host="app-2").version("3.4.0", "app-2")
    assert claimed(logs, "unexplained") == set()


def test_a_signature_long_before_the_finding_is_another_story() -> None:
    logs = logs_of(BUGS["KAFKA-14729"], STORIES["KAFKA-14729"], "3.4.1")
    logs.consumer(600, "(Re-)joining group")
    timeline = logs.timeline()
    assert known_bugs_of(timeline, "unexplained", timeline.group_events[-1:]) == ()


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("3.9.1", (3, 9, 1), (3, 9, 1)),
        ("0.11.0.2", (0, 11, 0, 2), (0, 11, 0, 2)),
        ("7.9.0-ccs", (3, 9, 0), (3, 9, 999)),
        ("5.5.1-ce", (2, 5, 0), (2, 5, 999)),
        ("3.4.0.redhat-00001", (3, 4, 0), (3, 4, 999)),
    ],
)
def test_a_vendors_number_leaves_the_patch_open(text: str, low: tuple[int, ...], high: tuple[int, ...]) -> None:
    assert release_range(text) == (low, high)


@pytest.mark.parametrize("text", ["4.1.0-SNAPSHOT", "unknown", "9.1.0-ccs"])
def test_a_number_that_is_not_a_release_matches_no_bug(text: str) -> None:
    assert release_range(text) is None


@pytest.mark.parametrize("bug", all_bugs(), ids=lambda bug: bug.jira)
def test_a_bug_has_a_signature_in_kafkas_events_or_says_why_not(bug: Bug) -> None:
    assert (bug.signature is None) == (bug.not_matched is not None)
    steps = bug.signature.steps if bug.signature else ()
    for step in steps:
        types = [EVENT_TYPES[name] for name in (*step.events, *step.without, *step.quiet)]
        fields = {f for t in types for f in t.__struct_fields__} | {"said", "members"}
        assert {name for name in step.where if not name.startswith("speaker.")} <= fields
    assert not steps or (not steps[0].never and bug.affected)
