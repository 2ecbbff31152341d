"""Turns messages into typed events: templates, patterns and the prefilter."""
