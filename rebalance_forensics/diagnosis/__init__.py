"""A group's history in, incidents with proven root causes out."""
