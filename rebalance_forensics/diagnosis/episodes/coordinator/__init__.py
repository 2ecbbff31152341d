"""What coordinators did: moves, outages of their storage, refusals."""
