"""What no cause explains: rebalances without a reason, members kept out, losses that only a client logs."""
