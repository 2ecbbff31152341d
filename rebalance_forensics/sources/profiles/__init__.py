"""Profiles of files: layout, envelope, component, release, host and zone, from a sample and from related files."""
