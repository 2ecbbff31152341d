"""Findings that only a comparison of the groups of a cluster shows."""
