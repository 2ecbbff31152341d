"""What happened to a group: departures, rejections, failed assignments, outages, each found by its own lines."""
