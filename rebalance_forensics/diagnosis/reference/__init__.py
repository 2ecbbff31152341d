"""Reference data on Kafka: settings, defaults, KIPs, releases, bugs, similar causes."""
