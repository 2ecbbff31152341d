"""How things are said: who is to blame, which lines prove it, how long it took."""
