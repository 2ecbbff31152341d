"""Why a partition was unread or a member did not read, in words."""

from __future__ import annotations

REASONS = {
    "stuck": "stuck: did not call poll()",
    "dead": "dead: its process was gone",
    "frozen": "frozen: its process was paused",
    "cut-off": "cut off from the brokers",
    "fenced": "fenced by another member",
    "silent": "silent: no heartbeat arrived",
    "holding-up": "holds up the rebalance",
    "revoked": "revoked, not assigned yet",
    "stopped": "stopped: its member shut down",
    "assignment-failed": "the assignment failed",
    "unassigned": "assigned to nobody",
    "unknown": "no reason was logged",
}
"""The first words are those of the JSON report; each reason has a pattern of its own beside its words."""
UNABLE = ("stuck", "dead", "frozen", "cut-off", "silent", "holding-up")
"""What is drawn in the lane of a member that did not read."""
