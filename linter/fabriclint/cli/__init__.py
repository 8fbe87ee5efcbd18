"""The command line: one module per command, imports inside commands."""
