"""Records out of files: cut into splits, framed, dated, each with its place."""
