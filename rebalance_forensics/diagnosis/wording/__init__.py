"""Wording: names of culprits, lines of evidence, durations, narratives."""
