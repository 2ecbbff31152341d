"""Lines of a byte stream: their starts, ends, numbers and text."""
