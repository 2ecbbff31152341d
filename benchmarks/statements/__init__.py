"""Whether the catalog knows each log statement of Kafka's source, in every release: filled, then asked."""
