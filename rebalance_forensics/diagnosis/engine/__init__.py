"""Hypotheses in, incidents out: what speaks for and against each cause, which wins, what is ruled out, what is open."""
