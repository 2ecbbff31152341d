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
STARTUP_GAP_MS = 20_000
"""Members of one start follow each other within this: containers and JVMs start, one host slower than another."""
STARTUP_SLACK_MS = 10_000
"""A client asks to join up to this long before its coordinator answers: group.initial.rebalance.delay.ms (3 s unless
set, and once more for each newcomer) and a retry (retry.backoff.ms up to 1 s)."""
ADDED_MS = 2_000
"""A thread that joins later than this after the first generation was added to its process (KIP-663)."""
ONE_SHUTDOWN_MS = 20_000
"""The members of an application that is stopped go within this of each other, or within a session timeout: each
commits, closes and is waited for."""
LONG_BEFORE_MS = 10_000
"""Whoever went this long before the others, and four times as long as lay between them, went for another reason."""
RESTART_PAIR_MS = 90_000
"""A process that nobody can name is the next life of one that went this shortly before: a pod's grace period (30 s),
and twice that for its start."""
SUCCESSION_MS = 90_000
"""The same for a new name in place of an old one; members that come and go by turns need no such window."""
TOGETHER_MS = 45_000
"""Threads of one process that go together are evicted within this: session.timeout.ms of Java clients from 3.0 on
unless a log shows a longer one."""
BEHIND_ITS_START_MS = 15_000
"""A process is started this long before its former life is evicted, and the session: JVM, container and first poll."""
ONE_SCALING_MS = 120_000
"""Members that are added or removed in one go follow each other within this: images are pulled, JVMs start."""
NO_SWAP_MS = 15_000
"""A thread that comes while another of its process goes within this takes its place and adds nothing."""
ONE_PROCESS_MS = 10_000
"""The threads of a process that starts ask to join within this time of each other."""
STORM_GAP_MS = 120_000
"""Poll timeouts that follow each other within this have one slow thing behind them: a sink, a batch, a lock."""
POLL_SLACK_MS = 1_000
"""The heartbeat thread looks at the poll timer this often or more (it sleeps for retry.backoff.ms)."""
LAST_JOINED_MS = 5_000
"""The rebalance that the last member of a start asks for begins within this: a JoinGroup and a retry."""
ONE_RETURN_MS = 60_000
"""A static member's stop, start and replaced member id within this are one return."""
ARRIVED_MS = 1_000
"""A member that joined is counted this much later: its JoinGroup is answered first."""
CLOSING_MS = 500
"""A member is on its way out this long before its departure is logged."""
