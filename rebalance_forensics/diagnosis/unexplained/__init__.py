"""Findings that no cause explains, one kind in each module; left_over() combines them."""
