"""Why does this Kafka consumer group not stop rebalancing? Logs in, proven root cause out."""

__version__ = "0.1.0"
