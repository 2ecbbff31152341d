"""The replay of a group's lines, oldest first: membership, generations, epochs, rebalances."""
