"""A lease is held by one at a time, whatever becomes of its holders."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import settings as settings_of
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rebalance_forensics.job.lake.leases import (
    Clock,
    ConditionalObject,
    Lease,
    LeaseLost,
    NumberedFiles,
    Record,
    Slot,
    Watch,
    slot_of,
)
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.process.identity import Process
from rebalance_forensics.records import DAY_MS
from tests.job.s3_server import serving, settings

LASTS_MS = 60_000
SKEW = DAY_MS
"""Wall clocks of two machines may be as far apart."""


class Time:
    """A clock that stands until it is moved; a machine's time of day may be off."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def clock(self, skew_ms: int = 0) -> Clock:
        """What one machine reads off."""
        return Clock(wall_ms=lambda: self.ms + skew_ms, steady_ms=lambda: self.ms)


def somebody(pid: int) -> Process:
    return Process(host=f"host-{pid}", pid=pid, begun="1", world="elsewhere")


def watch(slot: Slot, time: Time, dead: tuple[int, ...] = ()) -> Watch:
    return Watch(slot, LASTS_MS, time.clock(), is_gone=lambda process: process.pid in dead)


def held(taken: Lease | Record) -> Lease:
    assert isinstance(taken, Lease)
    return taken


@pytest.fixture
def slot(tmp_path: Path) -> NumberedFiles:
    return NumberedFiles(tmp_path / "blue.lease")


def test_the_second_job_learns_which_job_holds_the_lease_and_until_when(slot: NumberedFiles) -> None:
    time = Time()
    held(watch(slot, time).take(somebody(1)))
    told = watch(slot, time).take(somebody(2))
    assert isinstance(told, Record)
    assert told.holder == somebody(1)
    assert told.ends_ms == time.ms + LASTS_MS


def test_a_lease_that_is_let_go_is_had_at_once(slot: NumberedFiles) -> None:
    time = Time()
    held(watch(slot, time).take(somebody(1))).release()
    held(watch(slot, time).take(somebody(2)))


def test_a_lease_that_is_renewed_never_runs_out(slot: NumberedFiles) -> None:
    time, second = Time(), None
    first, second = held(watch(slot, time).take(somebody(1))), watch(slot, time)
    for _ in range(10):
        assert isinstance(second.take(somebody(2)), Record)
        time.ms += LASTS_MS // 2
        first.renew()


def test_a_dead_holder_on_another_host_is_waited_for_once(slot: NumberedFiles) -> None:
    """Its clock need not be ours: what counts is how long nothing was heard of it."""
    time = Time()
    held(Watch(slot, LASTS_MS, time.clock(-SKEW // 2), is_gone=lambda _: False).take(somebody(1)))
    second = watch(slot, time)
    assert isinstance(second.take(somebody(2)), Record)
    time.ms += LASTS_MS - 1
    assert isinstance(second.take(somebody(2)), Record)
    time.ms += 1
    held(second.take(somebody(2)))


def test_a_lease_that_ran_out_long_ago_is_had_at_once(slot: NumberedFiles) -> None:
    time = Time()
    held(watch(slot, time).take(somebody(1)))
    time.ms += LASTS_MS + SKEW
    held(watch(slot, time).take(somebody(2)))


def test_a_holder_that_is_known_to_be_dead_is_not_waited_for(slot: NumberedFiles) -> None:
    time = Time()
    held(watch(slot, time).take(somebody(1)))
    held(watch(slot, time, dead=(1,)).take(somebody(2)))


def test_a_holder_that_was_paused_notices_it(slot: NumberedFiles) -> None:
    time = Time()
    first, second = held(watch(slot, time).take(somebody(1))), watch(slot, time)
    second.take(somebody(2))
    time.ms += LASTS_MS
    held(second.take(somebody(2)))
    with pytest.raises(LeaseLost):
        first.confirm()
    with pytest.raises(LeaseLost):
        first.renew()


def test_a_holder_that_was_suspended_notices_it_although_only_one_clock_continued(slot: NumberedFiles) -> None:
    time, asleep_ms = Time(), 0
    clock = Clock(wall_ms=lambda: time.ms + asleep_ms, steady_ms=lambda: time.ms)
    first = held(Watch(slot, LASTS_MS, clock, is_gone=lambda _: False).take(somebody(1)))
    held(watch(slot, time, dead=(1,)).take(somebody(2)))
    asleep_ms = 2 * LASTS_MS
    with pytest.raises(LeaseLost):
        first.confirm()


def test_a_holder_that_was_paused_continues_if_no_other_job_took_the_lease(slot: NumberedFiles) -> None:
    time = Time()
    first = held(watch(slot, time).take(somebody(1)))
    time.ms += 10 * LASTS_MS
    first.confirm()
    assert isinstance(watch(slot, time).take(somebody(2)), Record)


def test_a_lease_of_others_that_ran_out_is_cleared_and_its_holder_notices(slot: NumberedFiles) -> None:
    time = Time()
    first, other = held(watch(slot, time).take(somebody(1))), watch(slot, time)
    assert other.clear() is not None
    time.ms += LASTS_MS
    assert other.clear() is None
    with pytest.raises(LeaseLost):
        first.confirm()


def test_a_file_that_was_cut_short_is_somebodys_until_it_stays_so(slot: NumberedFiles, tmp_path: Path) -> None:
    time = Time()
    held(watch(slot, time).take(somebody(1)))
    (tmp_path / "blue.lease" / "2.json").write_text('{"holder": {"ho')
    second = watch(slot, time)
    assert isinstance(second.take(somebody(2)), Record)
    time.ms += LASTS_MS
    held(second.take(somebody(2)))


def test_a_number_that_was_there_and_is_gone_is_not_taken_again(slot: NumberedFiles, tmp_path: Path) -> None:
    """Somebody read the first state, stood still, and others have gone on twice since."""
    assert (slot.swap(None, "a"), slot.swap("1", "b"), slot.swap("2", "c")) == ("1", "2", "3")
    assert slot.swap("1", "late") is None
    assert slot.read() == ("c", "3")
    assert [path.name for path in (tmp_path / "blue.lease").iterdir()] == ["3.json"]


def winners(slots: list[Slot]) -> list[Lease]:
    """Who of several that go for a free lease at the same moment gets it."""
    time, begin, won = Time(), Barrier(len(slots)), list[Lease]()

    def go(slot: Slot, number: int) -> None:
        mine = watch(slot, time)
        begin.wait()
        if isinstance(taken := mine.take(somebody(number)), Lease):
            won.append(taken)

    threads = [Thread(target=go, args=(slot, number)) for number, slot in enumerate(slots, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_of_many_at_the_same_moment_one_gets_it(tmp_path: Path) -> None:
    for attempt in range(20):
        assert len(winners([NumberedFiles(tmp_path / str(attempt)) for _ in range(8)])) == 1


def test_in_an_s3_server_the_condition_of_the_put_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("lake") as (_, port):
        for name, value in settings(port).items():
            monkeypatch.setenv(name, value)
        slots = [slot_of(Store("s3://lake/tables"), "clusters/blue") for _ in range(6)]
        assert all(isinstance(slot, ConditionalObject) for slot in slots)
        (first,) = winners([slot for slot in slots if slot])
        first.renew()
        slot, time = slots[0], Time()
        assert slot
        assert isinstance(watch(slot, time).take(somebody(7)), Record)
        held(watch(slot, time, dead=tuple(range(1, 7))).take(somebody(8)))
        with pytest.raises(LeaseLost):
            first.renew()


def test_a_process_that_runs_is_not_gone_and_one_that_ended_is() -> None:
    asked = "from rebalance_forensics.process.identity import Process as P; from dataclasses import asdict\n"
    with subprocess.Popen(
        [sys.executable, "-c", f"{asked}print(asdict(P.current()), flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout
        told = Process(**eval(other.stdout.readline()))  # noqa: S307 - its own words
        before = told.is_gone
        other.kill()
        # Not waited for, it is there as a zombie.
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert (before, told.is_gone) == (False, True)
    mine = Process.current()
    assert not mine.is_gone
    assert Process(host=mine.host, pid=mine.pid, begun="another time", world=mine.world).is_gone
    assert not Process(host=mine.host, pid=told.pid, begun=told.begun, world="another boot").is_gone


class Contenders(RuleBasedStateMachine):
    """Machines whose clocks are off go for a lease, renew it, stand still, die and come back, in any order."""

    names = st.integers(0, 2)

    @initialize(skews=st.tuples(*[st.integers(-SKEW // 2, SKEW // 2)] * 3))
    def start(self, skews: tuple[int, int, int]) -> None:
        """Nobody has it, and clocks are off."""
        self.directory = tempfile.TemporaryDirectory()
        self.time = Time()
        self.clocks = [self.time.clock(skew) for skew in skews]
        self.leases: list[Lease | None] = [None] * 3
        self.watches = [self._watch(name) for name in range(3)]

    def _watch(self, name: int) -> Watch:
        slot = NumberedFiles(Path(self.directory.name, "lease"))
        return Watch(slot, LASTS_MS, self.clocks[name], is_gone=lambda _: False)

    @rule(ms=st.sampled_from([1, LASTS_MS // 3, LASTS_MS // 2, LASTS_MS - 1, LASTS_MS, SKEW + LASTS_MS]))
    def time_goes_on(self, ms: int) -> None:
        """For everybody alike."""
        self.time.ms += ms

    @rule(name=names)
    def one_goes_for_it(self, name: int) -> None:
        """Somebody without a lease wants it."""
        if self.leases[name] is None and isinstance(taken := self.watches[name].take(somebody(name + 1)), Lease):
            self.leases[name] = taken

    @rule(name=names)
    def one_renews(self, name: int) -> None:
        """In time or late."""
        if lease := self.leases[name]:
            try:
                lease.renew()
            except LeaseLost:
                self.leases[name] = None

    @rule(name=names)
    def one_lets_go(self, name: int) -> None:
        """Its work is done."""
        if lease := self.leases[name]:
            self.leases[name] = None
            try:
                lease.release()
            except LeaseLost:
                return

    @rule(name=names)
    def one_starts_again(self, name: int) -> None:
        """Killed, and back without memory."""
        self.leases[name], self.watches[name] = None, self._watch(name)

    @rule(name=names)
    def one_clears_the_way(self, name: int) -> None:
        """Leases that ran out stand in nobody's way."""
        if self.leases[name] is None:
            self.watches[name].clear()

    @invariant()
    def at_most_one_may_write(self) -> None:
        """The law."""
        writing = 0
        for lease in filter(None, getattr(self, "leases", ())):
            try:
                lease.confirm()
                writing += 1
            except LeaseLost:
                continue
        assert writing <= 1

    def teardown(self) -> None:
        """Nothing stays."""
        if hasattr(self, "directory"):
            self.directory.cleanup()


TestContenders = Contenders.TestCase
TestContenders.settings = settings_of(max_examples=40, stateful_step_count=30, deadline=None)
