"""How a group's rebalances read: who led and took part, bursts, even intervals."""
