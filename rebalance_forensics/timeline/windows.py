"""The clock of the diagnosis: every span of time it judges by, in milliseconds, each with its reason.

Timeouts are no spans: what a member or a broker is set to is asked of `timeline/timeouts.py`. What stands here is what
no setting bounds. There are few, because a diagnosis that depends on whether a thing took 10 or 15 s is a guess: with
each of them three times longer or shorter the verdicts stay (benchmarks/SENSITIVITY.md). A rule that needs another
span takes the nearest of these, or a multiple of one with the reason beside it.
"""

from __future__ import annotations

REQUEST_MS = 50
"""A request and its response within one data centre, or two lines of one request that two threads write."""
SHORTEST_UNREAD_MS = 100
"""Contract: shorter times without a reader may be left out; batches that are shorter are not told apart."""
TICK_MS = 200
"""Two lines about one step by the same broker or on one host: the tick of the coordinator's timers (SystemTimerReaper),
and what clocks differ by that are set by each other."""
ROUND_TRIP_MS = 1_000
"""Two lines about one step, by the broker and by a client: a request, a retry (retry.backoff.max.ms, KIP-580), a moment
of garbage collection, and what the clocks of two hosts differ by. Also the resolution of layouts without milliseconds,
and what a line counts for where only the order of the lines is known."""
HEARTBEAT_MS = 3_000
"""What a member does at its next heartbeat or poll(): heartbeat.interval.ms (ConsumerConfig) where it is not set.
Connections that break over more than this are a network, all in one burst a process that woke up; a barrier is long
when it stands this much longer than heartbeats and the initial delay explain (contract)."""
NEXT_HEARTBEAT_MS = 5_000
"""A heartbeat with its response, or a JoinGroup with its SyncGroup: members that poll have answered a rebalance by
then, and have noticed a coordinator that died."""
AT_ONCE_MS = 10_000
"""What one cause does at the same time: members told to stop together, a process that asks to join before its
coordinator answers (group.initial.rebalance.delay.ms, and a retry), a thread that obeys an error code, a client that is
refused and gives its coordinator up. Also the shortest session timeout that clients have by default (kafka-python,
aiokafka, Sarama: 10 s)."""
PROCESS_START_MS = 20_000
"""A JVM or a container starts, or an application commits, closes its tasks and exits: the members of one start or one
shutdown follow each other within this, and an exception comes before the close that it causes."""
REQUEST_TIMEOUT_MS = 30_000
"""request.timeout.ms of Java consumers from 2.0 on unless set (ConsumerConfig, KIP-266): until then one that is cut off
has nothing to log, and a rebalance that lasts longer is felt by everyone who waits for records."""
SESSION_MS = 45_000
"""session.timeout.ms of Java consumers from 3.0 on unless set (KIP-735): threads of one process that are lost together
are evicted within it."""
ONE_REBALANCE_MS = 60_000
"""What belongs to one rebalance or one restart: the rebalance timeout of Connect workers, the sessions of all groups
that one broker's death ends, a coordinator's move from the stop to the loading, a static member's stop and return. The
same generation number more than this later belongs to a group that started anew."""
SUCCESSION_MS = 90_000
"""A new process takes the place of one that stopped: a pod's grace period (30 s), and twice that for its start."""
ONE_SCALING_MS = 120_000
"""Members that are added or removed in one go, topics that one script makes, poll timeouts that one slow sink causes:
images are pulled, JVMs start, each instance learns of it in the next rebalance."""
ONE_STEP_MS = 4 * 60 * 1000
"""Two steps of a deployment follow each other within this unless the walk itself shows another pace: a pod's grace
period (30 s), its start, and readiness probes of up to a few minutes."""
ONE_PACE = 3
"""Steps of one walk differ by less than this factor from its median step; a member may be slow to come up."""
QUIET_MS = 5 * 60 * 1000
"""A cause that comes back to the same culprit within this is the same incident (contract: or three timeouts); a group
with lines over this long and no rebalance among them is stable."""
ANOTHER_LIFE_MS = 30 * 60 * 1000
"""A member that joins this long after another of its kind left does not take its place: supervisors start a process
that stopped within minutes (CrashLoopBackOff: 5), and an autoscaler that flaps takes back what it did as soon as its
window is over (--horizontal-pod-autoscaler-downscale-stabilization: 5 minutes)."""
METADATA_AGE_MS = 330_000
"""Clients see new topics up to metadata.max.age.ms (300 s by default, ConsumerConfig) later, and rejoin at their next
poll()."""
LARGEST_SKEW_MS = 10 * 60 * 1000
"""A clock that only a generation number shows is off by no more: further apart, the number is of another group."""

USUAL_TIMEOUTS = (6_000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 120_000, 180_000, 300_000)
"""Usual values of timeouts."""
