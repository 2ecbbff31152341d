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
SHORTEST_UNREAD_MS = 100
"""Spans without a reader that are shorter are not told (contract)."""
BARRIER_MS = 6_000
"""A member that polls hears of a rebalance at its next heartbeat (3 s unless set) and rejoins at its next poll."""
HEARTBEAT_MS = 3_000
"""heartbeat.interval.ms of the Java client unless set; others have the same or a little more."""
AFTERMATH_MS = 1_500
"""Members are given their partitions a little after the last line that an incident rests on."""
