"""Finds input files, opens archives and compressed files, and limits how far each may unpack."""
