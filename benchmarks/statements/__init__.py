"""Coverage of the catalog: which log statements of Kafka's source it matches, in every release."""
