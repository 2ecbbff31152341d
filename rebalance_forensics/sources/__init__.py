"""Bytes in, records out: discovery, codecs, envelopes, layouts, framing, splits. No Spark."""
