"""Every span of time the project judges by, with its reason. Milliseconds.

What logs tell of timeouts comes first, then what is known of the client and its release, then the pace of the log
itself: nothing here may depend on how fast somebody's incident happened to unfold.
"""

from __future__ import annotations

QUIET_MS = 5 * 60 * 1000
"""A cause that comes back to the same culprit within this is the same incident (contract: or three timeouts)."""
ONE_BLOW_MS = 15_000
"""What hits several members of a host, a switch or a power line hits them within this: sessions end together, give or
take a heartbeat interval and the clocks of the hosts."""
WAKING_MS = 4_000
"""A process that wakes up finds its coordinator again within this; one that is cut off does not."""
BURST_MS = 3_000
"""Lost connections that spread over more are a network; all in one burst are a process that woke up."""
SAME_REBALANCE_MS = 500
"""What follows a departure so closely belongs to the rebalance that it began."""
REQUEST_TIMEOUT_MS = 30_000
"""request.timeout.ms of every Java client unless set: until then one that is cut off has nothing to log."""
ONE_STEP_MS = 4 * 60 * 1000
"""Two steps of a deployment follow each other within this unless the walk itself shows another pace: a pod's grace
period (30 s), its start, and readiness probes of up to a few minutes."""
ONE_PACE = 3
"""Steps of one walk differ by less than this factor from its median step; a member may be slow to come up."""
AT_ONCE_MS = 10_000
"""Members that are told to stop together are gone within this."""
CLOCK_SLACK_MS = 1_000
"""Two lines about one step, one by the broker and one by a client, are written within this of each other: a round trip
and what the clocks of two hosts differ by once they are set by each other."""
SAME_STEP_MS = 200
"""Two lines about one step that the same broker writes."""

# The join barrier
HEARTBEAT_INTERVAL_MS = 3_000
"""heartbeat.interval.ms of every Java client unless set; others have the same or less."""
INITIAL_DELAY_MS = 3_000
"""group.initial.rebalance.delay.ms of every broker unless set."""
BARRIER_ALLOWED_MS = 3_000
"""Contract: a barrier is long when it stands this much longer than heartbeats and the initial delay explain."""
START_UP_BARRIER_MS = 60_000
"""While processes start, each newcomer prolongs the barrier: containers of one deployment come up within a minute."""
LAST_JOIN_MS = 1_500
"""The coordinator ends the barrier when the last JoinGroup arrives: whoever joined earlier was not waited for."""

# The coordinator
ALL_AT_ONCE_MS = 5_000
"""Members notice a coordinator that died by their broken connections, and by their next heartbeat at the latest."""
ONE_LOSS_MS = 15_000
"""Losses of one coordinator follow each other within this: with its host gone, the connection set-up of a client times
out after 10 s (socket.connection.setup.timeout.ms), and it asks again."""
HAND_OVER_MS = 60_000
"""What a broker logs of its stop and another of loading the group belongs to one move: from the stop to the fencing of
a broker pass 9 s (broker.session.timeout.ms) or 18 s (zookeeper.session.timeout.ms), and large partitions load long."""
STOP_TO_LOAD_MS = 30_000
"""A move begins with the broker's stop when no more than a ZooKeeper session lies between it and the loading."""
DENIED_MS = 10_000
"""A client that is refused a group gives its coordinator up, and asks again after at most ten back-offs of 1 s."""
AFTER_MOVE_MS = 20_000
"""Members find a new coordinator and join again within this: a metadata refresh and a few back-offs."""
WHOLE_CLUSTER_MS = 60_000
"""Whoever shuts a cluster down tells all of its brokers to stop within this."""
SESSION_END_MS = 1_500
"""A session that restarts when its group is loaded ends exactly one session later, but for the time from the line about
the group to the last of its members and for the tick of the coordinator's timer (200 ms)."""

# The offsets topic
OFFSETS_WRITE_MS = 5_000
"""offsets.commit.timeout.ms of every broker unless set: how long a coordinator waits for a write to be replicated."""

# The assignment
ASSIGNED_LATE_MS = 1_500
"""An assignor that ends this much before its session does has all but used it up; the heartbeat before it is not
logged."""
TOPICS_LATE_MS = 10_000
"""Topics that are created along with an application appear within this; a group that waits longer was not meant to."""
ONE_WAIT_MS = 60_000
"""Members are told of missing topics at every heartbeat; a longer silence ends the wait."""
