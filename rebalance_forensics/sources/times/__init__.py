"""Times and time zones as logs write them."""
