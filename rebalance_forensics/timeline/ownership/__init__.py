"""Ownership over time: which member read each partition, and the spans in which nobody could, with their reasons."""
