"""Kinds of damage, one per module."""
