"""Events of one group in, its history out: generations, members, leaders, pauses."""
