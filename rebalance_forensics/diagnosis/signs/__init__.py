"""Signs by family: each is one statement about a history, shared by all causes that need it."""
