"""One report object in; terminal, JSON, HTML and exports out."""
