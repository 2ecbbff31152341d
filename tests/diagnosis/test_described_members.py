"""Members of KIP-1071 groups from the coordinator's lines alone: it says whose stream thread each of them is."""

from __future__ import annotations

from rebalance_forensics.diagnosis.case import GroupCase, investigate
from tests.diagnosis.logs import Logs

PROCESSES = {
    1: "9f1b2c3d-5e6f-4a7b-8c9d-0e1f2a3b4c51",
    2: "9f1b2c3d-5e6f-4a7b-8c9d-0e1f2a3b4c52",
    3: "9f1b2c3d-5e6f-4a7b-8c9d-0e1f2a3b4c53",
}


class _Coordinator:
    """What it writes of the group `ledger` at INFO."""

    def __init__(self) -> None:
        self.logs = Logs(group="ledger")
        self.epoch = 0

    def says(self, seconds: float, message: str) -> None:
        self.logs.broker(seconds, f"[GroupCoordinator id=1 topic=__consumer_offsets partition=3] {message}")

    def joins(self, seconds: float, member: str, node: int, thread: int) -> None:
        process = PROCESSES[node]
        head = f"[GroupId ledger][MemberId {self.id(member)}] "
        self.says(seconds, head + "Member joins the streams group.")
        self.says(
            seconds,
            f"{head}Member updated its member metdata to StreamsGroupMember[memberId={self.id(member)}, memberEpoch=0, "
            "previousMemberEpoch=0, state=STABLE, instanceId=Optional.empty, rackId=Optional.empty, "
            f"clientId=ledger-{process}-StreamThread-{thread}-consumer, clientHost=/10.0.0.{node}, "
            f"rebalanceTimeoutMs=300000, topologyEpoch=0, processId={process}, userEndpoint=Optional.empty, "
            "clientTags={}, assignedTasks=(active=[], standby=[], warmup=[]), "
            "tasksPendingRevocation=(active=[], standby=[], warmup=[])].",
        )
        self.bumps(seconds + 0.001, member)

    def leaves(self, seconds: float, member: str, evidence_types: str) -> None:
        it = self.id(member)
        self.says(seconds, f"[GroupId ledger][MemberId {it}] Member {it} left the streams group.")
        self.bumps(seconds + 0.5, evidence_types)

    def bumps(self, seconds: float, member: str) -> None:
        self.epoch += 1
        head = f"[GroupId ledger][MemberId {self.id(member)}] Bumped streams group epoch to {self.epoch} with "
        self.says(seconds, head + "metadata hash 77 and validated topic epoch 0.")

    @staticmethod
    def id(member: str) -> str:
        return f"{member:A<22}"

    def case(self) -> GroupCase:
        mine = [e for e in self.logs.events if e.group == "ledger"]
        return investigate("default", "ledger", mine, [e for e in self.logs.events if e.group is None])

    def causes(self) -> list[str]:
        return [i.root_causes[0].cause for i in self.case().incidents if i.root_causes[0].cause != "startup"]


def two_processes() -> _Coordinator:
    coordinator = _Coordinator()
    for node in (1, 2):
        for thread in (1, 2):
            coordinator.joins(node + thread / 10, f"n{node}t{thread}", node, thread)
    return coordinator


def test_the_process_is_named_by_its_client_id_and_has_one_member_for_each_thread() -> None:
    coordinator = two_processes()
    coordinator.joins(100, "n3t1", 3, 1)
    coordinator.joins(100.1, "n3t2", 3, 2)
    incident = coordinator.case().incidents[-1]
    assert [(c.kind, c.name) for c in incident.root_causes[0].culprits] == [("instance", f"ledger-{PROCESSES[3]}")]
    assert _Coordinator.id("n3t2") in incident.root_causes[0].culprits[0].names


def test_a_thread_that_joins_as_another_of_its_process_leaves_replaces_it() -> None:
    coordinator = two_processes()
    coordinator.joins(100, "n2t3", 2, 3)
    coordinator.leaves(100.3, "n2t1", "n1t1")
    coordinator.joins(114, "n2t1again", 2, 1)
    coordinator.leaves(114.3, "n2t3", "n1t1")
    assert coordinator.causes() == ["thread-replacement"]


def test_a_process_whose_threads_all_go_before_any_comes_was_restarted() -> None:
    coordinator = two_processes()
    for start, node in ((100, 1), (130, 2)):
        for thread in (1, 2):
            coordinator.leaves(start + thread / 10, f"n{node}t{thread}", f"n{3 - node}t1")
        for thread in (2, 1):
            coordinator.joins(start + 6 + thread / 10, f"n{node}t{thread}again", node, thread)
    assert coordinator.causes() == ["rolling-restart"]


def test_a_thread_that_leaves_and_is_back_at_once_under_its_id_had_a_stale_epoch_and_was_never_gone() -> None:
    coordinator = two_processes()
    coordinator.joins(100, "n3t1", 3, 1)
    coordinator.leaves(101, "n1t1", "n2t1")
    coordinator.joins(101.02, "n1t1", 1, 1)
    case = coordinator.case()
    assert [i.root_causes[0].cause for i in case.incidents][1:] == ["scale-out"]
    assert "rejoin" in case.incidents[-1].followups


def test_the_epoch_that_a_new_group_begins_when_its_internal_topics_are_there_is_part_of_its_start() -> None:
    coordinator = _Coordinator()
    first, second = (f"[GroupId ledger][MemberId {coordinator.id(name)}]" for name in ("a", "b"))
    idle = "(active=[], standby=[], warmup=[])"
    state = f"epoch=1, previousEpoch=0, state=STABLE, assignedTasks={idle} and tasksPendingRevocation={idle}."
    missing = "Valid topic configuration found in 0ms, but internal topics are missing for topology epoch 0: changelog"
    for seconds, message in (
        (0.0, f"{first} Static member {coordinator.id('a')} with instance id a-1 joins the streams group."),
        (0.1, f"{first} Member initialized the topology with epoch 0"),
        (0.4, f"{second} Static member {coordinator.id('b')} with instance id b-1 joins the streams group."),
        (0.4, f"{second} {missing}"),
        (0.4, f"{first} Member's new assignment state: {state}"),
        (3.3, "[GroupId ledger] Computed a new target assignment for epoch 4 with 'sticky' assignor in 5ms."),
        (5.6, f"{first} Valid topic configuration found in 1ms, topology epoch 0 is now initialized."),
        (5.6, f"{first} Bumped streams group epoch to 5 with metadata hash 13 and validated topic epoch 0."),
    ):
        coordinator.says(seconds, message)
    (started,) = coordinator.case().incidents
    assert started.root_causes[0].cause == "startup"
    # An emptied group keeps its topology: who brings one found the group new.
    assert started.summary == "Group started: 2 instances joined."
