"""Membership, generations, epochs, rebalances: a group's lines replayed from the oldest on."""
