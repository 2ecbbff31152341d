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
