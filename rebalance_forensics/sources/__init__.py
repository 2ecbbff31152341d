"""Turns bytes into records: discovery, codecs, envelopes, layouts, framing and splits, without Spark."""
