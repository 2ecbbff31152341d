"""Ownership over time: which member read each partition, and the unread spans with their reasons."""
