"""The command line: parses options, calls the pipeline, maps the result to an exit code."""
