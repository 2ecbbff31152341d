"""What a file is: layout, envelope, component, release, host and zone, from a sample of it and from its neighbours."""
