"""Bytes in lines: where each starts and ends, which number it has, what its text is."""
