"""What to do, by what one has to change: each piece of advice with its reason, as measured, and its price."""
