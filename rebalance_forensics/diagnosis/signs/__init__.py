"""One statement each about a history, by family, used by every cause that needs it."""
