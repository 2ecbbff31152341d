"""Recordings of incidents with real Kafka, real Java consumers and injected faults; see lab/README.md."""
