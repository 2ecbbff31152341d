"""Members that left, came back, were replaced, fenced or never admitted."""
