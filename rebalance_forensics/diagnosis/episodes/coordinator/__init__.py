"""Coordinators: moves, outages of brokers, failed writes to `__consumer_offsets`, rejected clients."""
