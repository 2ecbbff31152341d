"""The time windows of the diagnosis in milliseconds, each with its reason.

Configured timeouts are in `timeline/timeouts.py`; this module is for durations that no setting bounds. There are only
a few of them, because a diagnosis that depends on whether something took 10 or 15 s is a guess: the verdicts are the
same if each of them is three times longer or shorter (benchmarks/SENSITIVITY.md). A rule that needs another window
uses the nearest of these, or a multiple of it with a comment that gives the reason.
"""

from __future__ import annotations

REQUEST_MS = 50
"""A request and its response within a data center, or two lines about one request from different threads."""
SHORTEST_UNREAD_MS = 100
"""Contract: shorter unread spans may be left out; batches that are shorter are not distinguished."""
TICK_MS = 200
"""Two lines about one step on the same broker or host: the tick of the coordinator's timers (SystemTimerReaper). Also
the remaining difference between two synchronized clocks."""
ROUND_TRIP_MS = 1_000
"""Two lines about one step, from the broker and from a client: a request, a retry (retry.backoff.max.ms, KIP-580), a
short garbage collection, and the difference between the clocks of two hosts. Also the resolution of layouts without
milliseconds, and the distance assumed between two lines if only their order is known."""
HEARTBEAT_MS = 3_000
"""The time until a member's next heartbeat or poll(): the default of heartbeat.interval.ms (ConsumerConfig).
Connections lost over a longer time indicate a network fault; connections lost all at once, a process that resumed. A
join barrier is long if it exceeds what heartbeats and the initial delay explain by more than this (contract)."""
NEXT_HEARTBEAT_MS = 5_000
"""A heartbeat with its response, or a JoinGroup with its SyncGroup: by then, members that poll have rejoined, and have
noticed a coordinator failure."""
AT_ONCE_MS = 10_000
"""The immediate effects of one cause: members that are stopped together, a process that waits for the response to its
JoinGroup (group.initial.rebalance.delay.ms and a retry), a thread that reacts to an error code, a client that gives up
its coordinator after an error. Also the shortest default session timeout of clients (kafka-python, aiokafka, Sarama:
10 s)."""
PROCESS_START_MS = 20_000
"""A JVM or a container starts, or an application commits, closes its tasks and exits: the members of one start-up or
shutdown follow each other within this time, and so does the close that an exception causes."""
REQUEST_TIMEOUT_MS = 30_000
"""Default request.timeout.ms of Java consumers since 2.0 (ConsumerConfig, KIP-266). A consumer that is cut off logs
nothing until then. A rebalance that takes longer delays records noticeably."""
SESSION_MS = 45_000
"""Default session.timeout.ms of Java consumers since 3.0 (KIP-735): threads of one process that fail together are
evicted within this time."""
ONE_REBALANCE_MS = 60_000
"""The events of one rebalance or restart: the rebalance timeout of Connect workers, the expired sessions in all groups
after a broker failure, the move of a coordinator from its shutdown to the loading of the group, the restart of a static
member. The same generation number after more than this belongs to a group that was created anew."""
SUCCESSION_MS = 90_000
"""A new process replaces one that stopped: a pod's grace period (30 s), and twice that for its start."""
ONE_SCALING_MS = 120_000
"""Members that one scaling adds or removes, topics that one script creates, poll timeouts caused by one slow sink:
images are pulled, JVMs start, and each instance is affected in the next rebalance."""
ONE_STEP_MS = 4 * 60 * 1000
"""Two steps of a rolling deployment follow each other within this time, unless its other steps show another pace: a
pod's grace period (30 s), its start, and readiness probes of up to a few minutes."""
ONE_PACE = 3
"""The steps of one rolling deployment differ from the median step by less than this factor; a member may start
slowly."""
QUIET_MS = 5 * 60 * 1000
"""A cause that recurs with the same culprit within this time, or three timeouts, is one incident (contract). A group
whose lines cover more than this without a rebalance is stable."""
ANOTHER_LIFE_MS = 30 * 60 * 1000
"""A member that joins this long after a similar one left does not replace it: supervisors restart a stopped process
within minutes (CrashLoopBackOff: 5), and a flapping autoscaler reverses its decision after its stabilization window
(--horizontal-pod-autoscaler-downscale-stabilization: 5 minutes)."""
METADATA_AGE_MS = 330_000
"""Clients discover new topics within metadata.max.age.ms (ConsumerConfig, default 300 s) and rejoin at their next
poll()."""
LARGEST_SKEW_MS = 10 * 60 * 1000
"""The largest clock offset that a common generation number proves: further apart, the number belongs to a group that
was created anew."""

USUAL_TIMEOUTS = (6_000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 120_000, 180_000, 300_000)
"""Common values of timeout settings."""
