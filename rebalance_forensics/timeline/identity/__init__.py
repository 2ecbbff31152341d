"""Who speaks: participants, processes, threads, ids that change."""
