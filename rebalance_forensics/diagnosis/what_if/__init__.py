"""What if: the faults of an incident, simulated under another group protocol or other timeouts."""
