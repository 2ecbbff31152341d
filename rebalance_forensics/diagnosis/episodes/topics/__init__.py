"""Topics and subscriptions: what was asked for, assigned, changed, deleted."""
