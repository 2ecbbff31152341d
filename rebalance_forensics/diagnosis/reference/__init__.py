"""What is known of Kafka itself: settings, defaults, KIPs, releases, bugs, causes that look alike."""
