"""How fast: scan and start, beside what else could be used."""
