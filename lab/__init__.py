"""Records incidents: real Kafka, real Java consumers, a fault that is injected; see lab/README.md."""
