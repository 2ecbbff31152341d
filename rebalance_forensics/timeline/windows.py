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
SOON_AFTER_MS = 5_000
"""What a line announces, or an exception leads to, follows within this: one JoinGroup and its SyncGroup."""
MOMENTS_BEFORE_MS = 2_000
"""A request travels in a JoinGroup: the rebalance may begin on the broker before the line that tells of it is written,
and clocks of hosts differ."""
AROUND_MS = 15_000
"""A dying thread, its consumer's LeaveGroup, its successor's join and the rebalance of both lie within this: closing a
consumer and its tasks takes seconds, a join two requests."""
TAKING_OVER_MS = 30_000
"""What members ask for once they learn of a new endpoint comes within a request timeout."""
STOPPING_MS = 20_000
"""How long before its next start a Streams instance begins to stop: its tasks are closed and their state flushed."""
THREAD_SWAP_MS = 2_000
"""An uncaught exception handler adds the successor in the same call that ends the thread."""
THREADS_BY_HAND_MS = 10_000
"""removeStreamThread() says `removing`, and returns when the thread has stopped: within this of its end."""
HEARTBEAT_MS = 3_000
"""heartbeat.interval.ms of every Java client unless set."""
EXPIRY_SLACK_MS = 5_000
"""A coordinator removes a member up to a heartbeat interval and its own tick after the session is over."""
PROBING_INTERVAL_MS = 600_000
"""probing.rebalance.interval.ms unless set (KIP-441)."""
PROBING_REQUEST_MS = 60_000
"""probing.rebalance.interval.ms may be set as low as this (its minimum), so who asked for the first probing rebalance
did so no later before it."""
SHUTTING_DOWN_MS = 120_000
"""All instances of an application that was asked to stop are gone within this: each learns of it in the next rebalance
and closes its tasks."""
TOPICS_MISSED_MS = 60_000
"""A leader that misses source topics tells the members in the next assignment, of which there is one a minute or so."""
OBEYED_MS = 10_000
"""A thread that receives the error code, or waited in vain, stops at once."""
EXCEPTION_MS = 15_000
"""An exception that ends a poll loop precedes the close by what the application takes to commit and clean up."""
LONG_STOP_MS = 30_000
"""A rebalance that lasts longer than a request timeout is felt by whoever waits for records, whatever caused it."""
STEADY_MS = QUIET_MS
"""Lines of a group over this long, without a rebalance among them, show that it is stable: heartbeats fail sooner."""
