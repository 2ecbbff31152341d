"""Topics and subscriptions: requested, assigned, changed, deleted."""
