"""Topics and subscriptions: subscribed, assigned, changed or deleted topics."""
