"""Inputs wherever they lie: listed, opened once to see what they are, followed as they grow."""
