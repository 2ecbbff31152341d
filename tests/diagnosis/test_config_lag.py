"""Connect workers that cannot read the config topic as far as the group's assignment demands."""

from __future__ import annotations

import pytest

from tests.kafka_words import member_id
from tests.story import Side, Story, clock, ms

RUNTIME = "org.apache.kafka.connect.runtime.distributed"
STEADY, LATE = "connect-steady:8083", "connect-late:8083"
IDS = {"steady": member_id(STEADY), "late": member_id(LATE)}
MIN = 60_000


def says(story: Story, worker: str, at: int, message: str, by: str = "DistributedHerder") -> None:
    client = STEADY if worker == "steady" else LATE
    line = f"[Worker clientId={client}, groupId=kc-orders] {message}"
    story.line(f"{worker}/connect.log", clock(at), line, logger=f"{RUNTIME}.{by}")


def joins(story: Story, worker: str, at: int, generation: int, *, leader: str, offset: int, error: int = 0) -> None:
    mine = f"Generation{{generationId={generation}, memberId='{IDS[worker]}', protocol='sessioned'}}"
    says(story, worker, at, "Rebalance started", "WorkerCoordinator")
    says(story, worker, at + 1, "(Re-)joining group", "WorkerCoordinator")
    says(story, worker, at + 100, f"Successfully joined group with generation {mine}", "WorkerCoordinator")
    says(story, worker, at + 200, f"Successfully synced group in generation {mine}", "WorkerCoordinator")
    given = (
        f"Assignment{{error={error}, leader='{IDS[leader]}', leaderUrl='http://{leader}:8083/', offset={offset}, "
        "connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=0}"
    )
    message = f"Joined group at generation {generation} with protocol version 2 and got assignment: {given}"
    says(story, worker, at + 210, f"{message} with rebalance delay: 0")


def keeps_fetching(story: Story, worker: str, at: int, current: int, wanted: int) -> None:
    behind = f"Current config state offset {current} is behind group assignment {wanted}, reading to end of config log"
    says(story, worker, at, behind)


def forces(story: Story, worker: str, at: int, current: int, wanted: int) -> None:
    missed = f"Current config state offset {current} does not match group assignment {wanted}. Forcing rebalance."
    says(story, worker, at, missed)


def formed(*, seen: Side = "clients", heard: tuple[str, ...] = ("steady", "late")) -> Story:
    """Two workers form the Connect cluster at one o'clock; `heard` are those whose logs are at hand."""
    story = Story(group="kc-orders", seen=seen)
    begin = ms("01:00:00.000")
    for worker in ("steady", "late"):
        story.broker(clock(begin - 20), story.words.introduced(IDS[worker]))
    story.broker(clock(begin), story.words.preparing(0, story.words.adding(IDS["steady"])))
    for worker in heard:
        joins(story, worker, begin + 2_900, 1, leader="steady", offset=7)
    return barrier(story, begin + 2_900, 1)


def barrier(story: Story, at: int, generation: int, *, leader: str = "steady") -> Story:
    story.broker(clock(at + 90), story.words.stabilized(generation, 2))
    story.broker(clock(at + 150), story.words.assigned(generation, 2, IDS[leader]))
    return story


def cannot_catch_up(rounds: int, *, seen: Side = "clients", reached: tuple[int, ...] = (3,)) -> Story:
    """From ten past one on, the second worker is behind after each assignment, reads on and rejoins."""
    story = formed(seen=seen)
    begin = ms("01:10:00.000")
    for number in range(rounds):
        offset, at = reached[number % len(reached)], begin + 500 * number
        says(story, "late", at, "Catching up to assignment's config offset.")
        keeps_fetching(story, "late", at + 1, offset, 7)
        forces(story, "late", at + 140, offset, 7)
        why = f"Updating metadata for member {IDS['late']} during Stable; client reason: not provided"
        story.broker(clock(at + 142), story.words.preparing(number + 1, why))
        for worker in ("late", "steady"):
            joins(story, worker, at + 145, number + 2, leader="steady", offset=7)
        barrier(story, at + 145, number + 2)
    return story


def leader_is_behind(rounds: int, *, heard: tuple[str, ...] = ("steady",)) -> Story:
    """The worker with the older configuration leads: its assignments fail, and everybody rejoins."""
    story = formed(heard=heard)
    begin = ms("01:10:00.000")
    for number in range(rounds):
        at = begin + 500 * number
        for worker in heard:
            joins(story, worker, at, number + 2, leader="late", offset=7, error=1)
            up_to_date = "Join group completed, but assignment failed. We were up to date, so just retrying."
            leads = (
                "Join group completed, but assignment failed and we are the leader. "
                "Reading to end of config and retrying."
            )
            says(story, worker, at + 211, up_to_date if worker == "steady" else leads)
            if worker == "late":
                keeps_fetching(story, worker, at + 212, 3, 7)
    return story


@pytest.mark.parametrize("seen", ["clients", "both"])
def test_a_worker_that_never_reads_as_far_as_the_assignment_is_named_with_both_offsets(seen: Side) -> None:
    story = cannot_catch_up(6, seen=seen)
    incident = story.the_incident()
    cause = incident.root_causes[0]
    assert (cause.cause, incident.severity, story.blamed()) == ("unexplained", "warning", ["late"])
    assert "left it at offset 3, the group's assignment demanded 7" in incident.summary
    assert "asked for another rebalance 6 times within 2.5 s" in incident.summary
    assert "no reason" not in incident.summary
    assert incident.generations == (2, 3, 4, 5, 6, 7)


def test_the_reason_for_the_lag_stays_unknown_and_the_lines_that_force_rebalances_are_the_evidence() -> None:
    cause = cannot_catch_up(6).the_incident().root_causes[0]
    assert cause.confidence <= 0.5
    assert cause.narrative.endswith("The logs do not show why.")
    assert "Forcing rebalance" in cause.evidence[0].text
    assert "config.storage.topic" in cause.advice[0].action
    assert "compacted" in cause.advice[1].action


def test_a_worker_at_offset_minus_one_has_read_no_record_of_the_config_topic() -> None:
    assert "offset -1 (it had read no record)" in cannot_catch_up(3, reached=(-1,)).the_incident().summary


def test_a_worker_that_catches_up_after_one_reading_is_nothing_to_report() -> None:
    story = formed()
    at = ms("01:10:00.000")
    says(story, "late", at, "Catching up to assignment's config offset.")
    keeps_fetching(story, "late", at + 1, 3, 7)
    assert story.goes_on("01:20:00.000").incidents() == []


def test_a_worker_whose_offset_advances_with_each_read_is_listed_by_rebalance_and_is_not_a_fault() -> None:
    incidents = cannot_catch_up(3, reached=(3, 4, 5)).incidents()
    assert {incident.severity for incident in incidents} == {"info"}
    assert "late had not read the config topic as far as the group's assignment (offset 3" in incidents[0].summary


def test_a_worker_that_read_past_the_assignment_forces_one_rebalance_and_is_not_blamed() -> None:
    story = formed()
    at = ms("01:10:00.000")
    forces(story, "late", at, 9, 7)
    for worker in ("late", "steady"):
        joins(story, worker, at + 5, 2, leader="steady", offset=9)
    incident = story.the_incident()
    assert (incident.severity, story.blamed()) == ("info", [])
    assert "late had read the config topic further than the group's assignment (offset 9" in incident.summary


def test_a_worker_that_was_restarted_between_two_reads_did_not_fail_twice() -> None:
    story = formed()
    for minute in (10, 12):
        begin = ms("01:00:00.000") + minute * MIN
        says(story, "late", begin, "Herder starting")
        joins(story, "late", begin + 500, minute, leader="steady", offset=7)
        keeps_fetching(story, "late", begin + 800, -1, 7)
    assert not any("could not catch up" in incident.summary for incident in story.incidents())


@pytest.mark.parametrize("file", ["late", "both"])
def test_reading_on_at_the_same_offset_without_a_failure_is_no_lag(file: str) -> None:
    """One worker restarted unseen, or two workers whose logs are written to one file."""
    story = formed()
    for number, client in enumerate((LATE, LATE if file == "late" else STEADY)):
        line = "Current config state offset -1 is behind group assignment 7, reading to end of config log"
        at = clock(ms("01:10:00.000") + 60_000 * number)
        says_so = f"[Worker clientId={client}, groupId=kc-orders] {line}"
        story.line(f"{file}/connect.log", at, says_so, logger=f"{RUNTIME}.DistributedHerder")
    assert story.incidents() == []


def test_two_workers_in_one_file_that_log_the_same_failed_assignment_show_no_loop() -> None:
    story = Story(group="kc-orders", seen="clients")
    given = "error=1, leader='x', leaderUrl='http://x:8083/', offset=7, connectorIds=[], taskIds=[]"
    for client in (LATE, STEADY):
        message = (
            f"[Worker clientId={client}, groupId=kc-orders] Joined group at generation 4 with protocol version 2 and "
            f"got assignment: Assignment{{{given}, revokedConnectorIds=[], revokedTaskIds=[], delay=0}} with rebalance "
            "delay: 0"
        )
        story.line("both/connect.log", "01:10:00.000", message, logger=f"{RUNTIME}.DistributedHerder")
    assert {incident.severity for incident in story.incidents()} <= {"info"}


def test_a_leader_with_an_outdated_configuration_fails_the_assignments_of_up_to_date_workers() -> None:
    story = leader_is_behind(4)
    incident = story.the_incident()
    assert (incident.severity, story.blamed()) == ("warning", [LATE])
    assert f"The leader, {LATE}, had not read the config topic as far as another worker (offset 7)" in incident.summary
    assert "failed (error 1) 4 times" in incident.summary


def test_a_leader_with_its_own_log_is_named_once_with_its_offset() -> None:
    story = leader_is_behind(4, heard=("steady", "late"))
    assert story.blamed() == ["late"]
    summary = story.the_incident().summary
    assert "left it at offset 3, the group's assignment demanded 7" in summary
    assert "It led the group, so the assignments failed for every worker" in summary


def test_one_failed_assignment_is_the_logged_reason_of_the_next_rebalance() -> None:
    story = leader_is_behind(1)
    joins(story, "steady", ms("01:10:00.300"), 3, leader="late", offset=7)
    last = story.incidents()[-1]
    assert last.severity == "info"
    assert f"because the assignment before it failed (error 1): the leader, {LATE}," in last.summary


def test_a_leader_that_catches_up_between_two_failed_assignments_is_no_fault() -> None:
    story = formed(heard=("steady",))
    for number, error in enumerate((1, 0, 1, 0)):
        at = ms("01:10:00.000") + 20_000 * number
        joins(story, "steady", at, number + 2, leader="late", offset=7 + number, error=error)
    assert {incident.severity for incident in story.incidents()} == {"info"}


def test_a_worker_that_does_not_come_to_the_end_in_time_may_not_reach_the_topic() -> None:
    story = formed()
    begin = ms("01:10:00.000")
    for number in range(3):
        at = begin + 4_000 * number
        keeps_fetching(story, "late", at, 3, 7)
        says(story, "late", at + 3_000, "Didn't reach end of config log quickly enough")
        for worker in ("late", "steady"):
            joins(story, worker, at + 3_010, number + 2, leader="steady", offset=7)
    cause = story.the_incident().root_causes[0]
    assert "late did not reach the end of the config topic in time 3 times" in cause.narrative
    assert "worker.sync.timeout.ms" in cause.advice[0].why


def test_a_lag_that_lasts_until_the_logs_end_is_not_reported_as_over() -> None:
    story = formed()
    for number in range(3):
        at = ms("01:10:00.000") + 500 * number
        joins(story, "late", at, number + 2, leader="steady", offset=7)
        keeps_fetching(story, "late", at + 215, 3, 7)
        forces(story, "late", at + 300, 3, 7)
    assert story.incidents()[-1].ongoing
    joins(story, "late", ms("01:10:02.000"), 5, leader="steady", offset=7)
    assert not story.incidents()[-1].ongoing


def test_the_one_line_that_forces_a_rebalance_tells_why_a_worker_rejoined() -> None:
    story = Story(group="kc-orders", seen="clients")
    forces(story, "late", ms("01:10:00.000"), -1, 1)
    incident = story.the_incident()
    assert incident.severity == "info"
    assert "had not read the config topic" in incident.root_causes[0].narrative
