"""One module a kind of damage."""
