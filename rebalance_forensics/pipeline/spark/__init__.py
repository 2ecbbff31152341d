"""Spark itself: which Java, how its JVM starts, the session, the stages on it."""
