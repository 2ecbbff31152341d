"""The history of one group from its events: generations, members, leaders, pauses, ownership."""
