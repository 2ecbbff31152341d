"""`explain` as people type it: other signs and case, a part of a name, a follow-up, a line as it was pasted."""

from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.diagnosis.reference.glossary import glossary
from tests.conftest import SAMPLES, Command

LINE = (
    "[2026-03-01 10:05:00,000] INFO [Consumer instanceId=i-1, clientId=c-1, groupId=payments] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
)


@pytest.mark.parametrize("typed", [("Slow_Processing",), ("slow", "processing"), (" slow-processing ",)])
def test_a_cause_however_it_is_written(command: Command, typed: tuple[str, ...]) -> None:
    assert command("explain", *typed).stdout.startswith("slow-processing\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("crash", "process-crash"),
        ("static", "static-member-expired, static-member-fenced or static-member-restart"),
        ("coop", "cooperative"),
        ("session.timeout", "session.timeout.ms"),
        ("KIP-84", "KIP-848"),
        ("KAFKA-1402", "KAFKA-14024"),
        ("FENCED_INSTANCE", "FENCED_INSTANCE_ID"),
    ],
)
def test_a_part_of_a_name_is_enough_to_find_the_complete_one(command: Command, typed: str, meant: str) -> None:
    done = command("explain", typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"rebalance-forensics: no explanation for {typed!r}; did you mean {meant}?\n"


@pytest.mark.parametrize(
    ("asked", "words", "cause"),
    [
        ("max.poll.interval.ms", "the longest time between two calls of poll()", "slow-processing"),
        ("kip-345", "Introduce static membership", "static-member-expired"),
        ("KAFKA-4777", "The heartbeat thread spins while no broker is there. Fixed in 0.11.0.0.", "network-partition"),
        ("GROUP_MAX_SIZE_REACHED", "The consumer group has reached its max size.", "group-max-size"),
        ("FencedInstanceIdException", "FENCED_INSTANCE_ID", "static-member-fenced"),
    ],
)
def test_kafkas_own_names_lead_to_the_causes_they_belong_to(
    command: Command, asked: str, words: str, cause: str
) -> None:
    text = command("explain", asked).stdout
    assert words in " ".join(text.split())
    assert f"\n  {cause}\n" in text.partition("Root causes with it")[2]


def test_a_setting_almost_right_names_the_nearest(command: Command) -> None:
    assert "did you mean max.poll.interval.ms" in command("explain", "max.pol.interval.ms").stderr


def test_follow_ups_are_explained_as_well(command: Command) -> None:
    text = command("explain", "cooperative").stdout
    assert text.startswith("cooperative (a follow-up)\n")
    assert "KIP-429" in text


def test_every_follow_up_names_settings_and_kips_that_there_are() -> None:
    known = glossary()
    assert not known.follow_ups.keys() & all_causes().keys()
    for follow_up in known.follow_ups.values():
        assert set(follow_up.settings) <= known.settings.keys()
        assert set(follow_up.kips) <= known.kips.keys()


@pytest.mark.parametrize("pasted", [LINE, f"'{LINE}'", f'  "{LINE}"  ', f"`{LINE}`\n", f"app.log:12:{LINE}"])
def test_a_line_as_it_was_copied(command: Command, pasted: str) -> None:
    text = command("explain", "--line", pasted).stdout
    for told in ("event        JoinStarted", "client id    c-1", "instance id  i-1", "group        payments"):
        assert told in text


def test_a_line_from_standard_input(command: Command) -> None:
    trace = f"{LINE}\n\tat org.apache.kafka.X.y(X.java:1)\n"
    assert "JoinStarted" in command("explain", "--line", "-", input=trace).stdout


def test_an_empty_line_is_refused(command: Command) -> None:
    done = command("explain", "--line", "  ")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--line is empty; give it one line of a log" in done.stderr


def test_what_a_line_means_fits_the_terminal(command: Command) -> None:
    text = command("explain", LINE).stdout
    assert max(map(len, text.splitlines())) <= 80


def test_one_incident_is_explained_by_its_signs_and_their_lines(command: Command) -> None:
    paused = SAMPLES / "process-pause"
    done = command("explain", f"{paused}#d0192a85", "--engine", "local")
    assert done.returncode == 0
    assert done.stdout.startswith("WARNING  billing-v2  incident d0192a85")
    assert "  process-  network-   process-\n  pause     partition  crash     sign\n" in done.stdout
    assert "    node-3/app.log:113\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_incident_that_there_is_not_is_refused_with_those_there_are(command: Command) -> None:
    done = command("explain", f"{SAMPLES / 'process-pause'}#nope", "--engine", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no incident 'nope'; its incidents: b62d5b1cd27e442b, d0192a8593e4517a" in done.stderr


def test_why_an_incident_was_judged_so_is_printed_when_asked_for(command: Command) -> None:
    done = command("analyze", SAMPLES / "process-pause", "--engine", "local", "--quiet", "--why")
    assert "Why process-pause in billing-v2, incident d0192a8593e4517a\n" in done.stdout
    assert "---       it used its old member id again" in done.stdout
