from __future__ import annotations

from tests.diagnosis.closings import closes
from tests.story import Story


def silent() -> Story:
    story = Story(release=(1, 1), seen="brokers").formed("c-1", "c-2")
    return story.rebalanced("01:30:00.000", "brokers before 2.1 do not print it", ["c-1", "c-2"])


def test_a_rebalance_that_no_line_explains_is_called_so() -> None:
    incident = silent().the_incident()
    assert incident.root_causes[0].cause == "unexplained"
    assert incident.root_causes[0].culprits == ()
    assert incident.generations == (2,)


def test_its_confidence_is_low_and_the_lines_that_were_found_are_shown() -> None:
    cause = silent().the_incident().root_causes[0]
    assert cause.confidence <= 0.5
    assert cause.evidence


def test_what_a_rule_explains_is_not_unexplained() -> None:
    assert "unexplained" not in closes(Story().formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"]).causes()


def test_the_silence_of_a_coordinator_that_names_no_members_is_not_evidence() -> None:
    incident = silent().the_incident()
    assert "names neither the reason nor who joined or left" in incident.summary
    assert {wanted.needs for wanted in incident.would_decide} == {"the logs of the group's clients"}
    assert "membership-changed" in {row.sign for row in incident.signs if row.answer == "unobservable"}


def test_without_the_coordinators_log_joins_and_departures_are_unknown() -> None:
    story = Story(seen="clients").formed("c-1", "c-2").rebalanced("01:30:00.000", "", ["c-1", "c-2"])
    assert "it is not known who joined or left" in story.the_incident().summary


def test_a_followup_of_a_rebalance_that_nothing_explains_does_not_make_the_startup_before_it_longer() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    story.client("c-1", "01:02:00.000", "Request joining group due to: group is already rebalancing")
    story.rebalanced("01:02:00.001", "", ["c-1", "c-2"])
    why = "need to revoke partitions [orders-1] as indicated by the current assignment and re-join"
    story.client("c-1", "01:02:00.600", f"Request joining group due to: {why}")
    story.rebalanced("01:02:00.601", "", ["c-1", "c-2"])
    assert story.the_incident().generations == (2, 3)


def test_a_rebalance_after_which_the_leader_lists_a_member_no_more_is_no_part_of_the_startup_before_it() -> None:
    story = Story(seen="clients")
    first, second = story.id_of("c-1"), story.id_of("c-2")
    story.started("c-1", "00:59:59.000").client("c-1", "01:00:00.000", "(Re-)joining group")
    story.client(
        "c-1", "01:00:00.010", f"Request joining group due to: need to re-join with the given member-id: {first}"
    )
    for number, minute, members in ((1, 0, (first, second)), (2, 1, (first,))):
        assignment = {member: [f"orders-{n}"] for n, member in enumerate(members)}
        story.line("c-1/app.log", f"01:{minute:02}:07.000", story.of("c-1").joined(number, first) or "")
        story.line("c-1/app.log", f"01:{minute:02}:07.005", story.of("c-1").computed(number, assignment) or "")
    incident = story.the_incident()
    assert (incident.root_causes[0].cause, incident.generations) == ("unexplained", (2,))
    assert "c-2 is no longer on the leader's list" in incident.summary


def superseded(generations: int) -> Story:
    """c-1 joins one generation after another; before each SyncGroup is answered the group rebalances again."""
    story = Story(seen="clients")
    member = story.id_of("c-1")
    for n in range(generations):
        held = f"Generation{{generationId={70 + n}, memberId='{member}', protocol='range'}}"
        second = f"01:30:{n:02d}"
        story.client("c-1", f"{second}.000", "(Re-)joining group")
        story.client("c-1", f"{second}.100", f"Successfully joined group with generation {held}")
        failed = "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent generation was"
        story.client("c-1", f"{second}.200", f"{failed} {held}")
    return story


def test_generations_that_never_get_an_assignment_are_a_warning_even_where_no_reason_is_logged() -> None:
    incident = superseded(8).the_incident()
    assert incident.severity == "warning"
    assert "8 generations in a row ended before their assignment reached every member" in incident.summary
    assert {i.severity for i in superseded(2).incidents()} <= {"info"}
