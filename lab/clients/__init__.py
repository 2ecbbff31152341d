"""Real clients of many languages as members of groups; see lab/README.md."""
