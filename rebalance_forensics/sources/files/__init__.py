"""Which files there are, what they are packed in, and how far each may unpack."""
