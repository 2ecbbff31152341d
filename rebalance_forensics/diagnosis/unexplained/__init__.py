"""What no cause explains, one phenomenon a module; left_over() puts it together."""
