"""Finds what happened to a group: departures, rejections, failed assignments and outages."""
