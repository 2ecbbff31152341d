"""The only place where the stages meet; Spark lives here."""
