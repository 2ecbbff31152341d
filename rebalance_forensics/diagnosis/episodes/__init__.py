"""What wants an explanation, and what is found out about it: departures, refusals, failed assignments, outages."""
