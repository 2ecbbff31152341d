"""Coordinators: moves, unwritable `__consumer_offsets`, rejected clients."""
