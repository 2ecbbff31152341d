"""What only shows when the groups of a cluster are seen together."""
