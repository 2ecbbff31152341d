"""Renders one report object for the terminal, as JSON, as HTML and in export formats."""
