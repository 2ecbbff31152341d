"""Identities: participants, processes, threads, and the ids under which logs name them."""
