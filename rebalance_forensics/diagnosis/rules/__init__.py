"""One root cause a file; the module's name is the cause's id."""
