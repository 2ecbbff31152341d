"""What if: an incident's faults under another group protocol, replayed step by step through a model of it."""
