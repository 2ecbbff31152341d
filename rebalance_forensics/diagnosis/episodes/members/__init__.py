"""Members that went, came back, were replaced, fenced or never got in."""
