"""Messages in, typed events out: templates, patterns, the prefilter."""
