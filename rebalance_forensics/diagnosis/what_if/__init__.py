"""The same faults under another group protocol, replayed step by step through a model of it."""
