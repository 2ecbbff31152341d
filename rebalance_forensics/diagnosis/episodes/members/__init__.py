"""Members: departures and returns, restarts, errors before they left, heartbeat loss, pods."""
